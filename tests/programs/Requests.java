import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Requests that begin on a client's thread and end on a server's, and how long they were in flight by their own clocks. Arguments:
 * clients, requests of each, and "busy" for a thread that computes from the first begin to the last end, and "safepoints" for one
 * that has the JVM stop all threads every few milliseconds. Prints the number of requests, the sum of their nanoseconds in flight,
 * and the nanoseconds from the first begin to the last end.
 */
public final class Requests {
    private static final int SERVERS = 2;
    private static final AtomicLong IN_FLIGHT_NS = new AtomicLong();
    private static final AtomicLong COMPLETED = new AtomicLong();
    private static final AtomicLong FIRST_NS = new AtomicLong(Long.MAX_VALUE);
    private static final AtomicLong LAST_NS = new AtomicLong(Long.MIN_VALUE);
    private static volatile boolean isOver;
    private static volatile double sink;

    private Requests() {}

    static final class Request {
        final Semaphore done = new Semaphore(0);
        final int millis;
        long begunNs;

        Request(int millis) {
            this.millis = millis;
        }
    }

    static void begun(Request request) {
        request.begunNs = System.nanoTime();
        FIRST_NS.accumulateAndGet(request.begunNs, Math::min);
    }

    static void ended(Request request) {
        long now = System.nanoTime();
        IN_FLIGHT_NS.addAndGet(now - request.begunNs);
        LAST_NS.accumulateAndGet(now, Math::max);
        COMPLETED.incrementAndGet();
    }

    static void serve(LinkedBlockingQueue<Request> queue) {
        try {
            while (true) {
                Request request = queue.take();
                Thread.sleep(request.millis);
                ended(request);
                request.done.release();
            }
        } catch (InterruptedException over) {
            return;
        }
    }

    /** Each has one request in flight at a time. */
    static void ask(LinkedBlockingQueue<Request> queue, int requests) {
        try {
            for (int i = 0; i < requests; i++) {
                Request request = new Request(2 + i % 4);
                begun(request);
                queue.put(request);
                request.done.acquire();
            }
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }

    /** What experiments make faster. */
    static void compute() {
        double x = sink;
        for (int i = 0; i < 100_000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        sink = x;
    }

    static void beBusy() {
        while (!isOver) {
            compute();
        }
    }

    private static void stopAll() {
        try {
            while (!isOver) {
                Thread.getAllStackTraces();
                Thread.sleep(5);
            }
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }

    private static List<Thread> started(int threads, Runnable action) {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(action);
            thread.start();
            all.add(thread);
        }
        return all;
    }

    public static void main(String[] args) throws Exception {
        LinkedBlockingQueue<Request> queue = new LinkedBlockingQueue<>();
        List<Thread> servers = started(SERVERS, () -> serve(queue));
        List<Thread> besides = started(args.length > 2 ? 1 : 0, Requests::beBusy);
        besides.addAll(started(args.length > 3 ? 1 : 0, Requests::stopAll));
        List<Thread> clients = started(Integer.parseInt(args[0]), () -> ask(queue, Integer.parseInt(args[1])));
        for (Thread client : clients) {
            client.join();
        }
        isOver = true;
        for (Thread thread : besides) {
            thread.join();
        }
        for (Thread server : servers) {
            server.interrupt();
            server.join();
        }
        System.out.println(COMPLETED + " " + IN_FLIGHT_NS + " " + (LAST_NS.get() - FIRST_NS.get()));
    }
}
