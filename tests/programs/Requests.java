import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Requests that begin on a client's thread and end on a server's, and how long they were in flight by their own clocks. Arguments:
 * clients, requests of each, and "busy" for a thread that computes from the first begin to the last end. Prints the number of
 * requests and the sum of their nanoseconds in flight.
 */
public final class Requests {
    private static final int SERVERS = 2;
    private static final AtomicLong IN_FLIGHT_NS = new AtomicLong();
    private static final AtomicLong COMPLETED = new AtomicLong();
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
    }

    static void ended(Request request) {
        IN_FLIGHT_NS.addAndGet(System.nanoTime() - request.begunNs);
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
        List<Thread> busy = started(args.length > 2 ? 1 : 0, Requests::beBusy);
        List<Thread> clients = started(Integer.parseInt(args[0]), () -> ask(queue, Integer.parseInt(args[1])));
        for (Thread client : clients) {
            client.join();
        }
        isOver = true;
        for (Thread thread : busy) {
            thread.join();
        }
        for (Thread server : servers) {
            server.interrupt();
            server.join();
        }
        System.out.println(COMPLETED + " " + IN_FLIGHT_NS);
    }
}
