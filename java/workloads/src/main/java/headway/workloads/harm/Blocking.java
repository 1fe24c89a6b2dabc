package headway.workloads.harm;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Kinds of stress that wait: what a signal in the middle of a wait must not cut short, and no wait may lose. */
final class Blocking {
    static final Map<String, Stress.Round> KINDS = Map.of("sleeps", Blocking::sleeps, "sockets", Blocking::sockets, "select",
            Blocking::select, "processes", Blocking::processes, "locks", Blocking::locks, "queues", Blocking::queues);
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static int guarded;
    private static int guardedByMonitor;

    private Blocking() {}

    /** Fails when less time than asked has gone by, by the clock that the JVM waits by. */
    private static void checkLength(long begin, long asked, String what) {
        long lasted = System.nanoTime() - begin;
        Stress.check(lasted >= asked - 1_000_000, what + " lasted " + lasted + " ns instead of " + asked);
    }

    private static void sleeps() throws Exception {
        for (int millis : new int[] {1, 7, 30}) {
            long begin = System.nanoTime();
            Thread.sleep(millis);
            checkLength(begin, millis * 1_000_000L, "sleep");
            begin = System.nanoTime();
            boolean isTaken = new ArrayBlockingQueue<Object>(1).poll(millis, TimeUnit.MILLISECONDS) != null;
            Stress.check(!isTaken, "nothing was there");
            checkLength(begin, millis * 1_000_000L, "poll");
        }
    }

    private static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            server.setSoTimeout(15);
            long begin = System.nanoTime();
            try {
                server.accept();
                throw new AssertionError("nobody connects");
            } catch (SocketTimeoutException expected) {
                checkLength(begin, 15_000_000, "accept");
            }
            server.setSoTimeout(0);
            Thread client = new Thread(() -> talk(server.getLocalPort()));
            client.start();
            try (Socket socket = server.accept(); DataInputStream in = new DataInputStream(socket.getInputStream())) {
                for (int i = 0; i < 20; i++) {
                    Stress.check(in.readInt() == i, "bytes arrive in order");
                }
                Stress.check(in.read() == -1, "end");
            }
            client.join();
        }
    }

    private static void talk(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                DataOutputStream out = new DataOutputStream(socket.getOutputStream())) {
            for (int i = 0; i < 20; i++) {
                Thread.sleep(i % 4 * 4);
                out.writeInt(i);
            }
        } catch (Exception problem) {
            throw new AssertionError(problem);
        }
    }

    private static void select() throws Exception {
        Pipe pipe = Pipe.open();
        pipe.source().configureBlocking(false);
        try (Selector selector = Selector.open()) {
            pipe.source().register(selector, SelectionKey.OP_READ);
            long begin = System.nanoTime();
            Stress.check(selector.select(20) == 0, "nothing to read");
            checkLength(begin, 20_000_000, "select");
            Thread writer = new Thread(() -> {
                try {
                    Thread.sleep(12);
                    pipe.sink().write(ByteBuffer.wrap(new byte[] {42}));
                } catch (Exception problem) {
                    throw new AssertionError(problem);
                }
            });
            writer.start();
            Stress.check(selector.select() == 1, "select without end ends by the byte alone");
            ByteBuffer got = ByteBuffer.allocate(2);
            Stress.check(pipe.source().read(got) == 1 && got.get(0) == 42, "byte");
            writer.join();
        } finally {
            pipe.sink().close();
            pipe.source().close();
        }
    }

    private static void processes() throws Exception {
        Process process = new ProcessBuilder("sh", "-c", "sleep 0.02; cat; exit 5").redirectErrorStream(true).start();
        byte[] sent = "to the child".getBytes(StandardCharsets.UTF_8);
        process.getOutputStream().write(sent);
        process.getOutputStream().close();
        byte[] back = process.getInputStream().readAllBytes();
        Stress.check(new String(back, StandardCharsets.UTF_8).equals("to the child"), "what the child said");
        Stress.check(process.waitFor() == 5, "how the child ended");
    }

    private static void locks() throws Exception {
        int rounds = 3000;
        for (int i = 0; i < rounds; i++) {
            LOCK.lock();
            try {
                guarded++;
            } finally {
                LOCK.unlock();
            }
            synchronized (LOCK) {
                guardedByMonitor++;
            }
        }
        synchronized (LOCK) {
            LOCK.wait(2);
        }
        LOCK.lock();
        try {
            Stress.check(guarded % 1 == 0 && guarded >= rounds && guardedByMonitor >= rounds, "counts");
        } finally {
            LOCK.unlock();
        }
    }

    private static void queues() throws Exception {
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
        long[] sum = {0};
        Thread consumer = new Thread(() -> {
            try {
                for (int got = queue.take(); got >= 0; got = queue.take()) {
                    sum[0] += got;
                }
            } catch (InterruptedException problem) {
                throw new AssertionError(problem);
            }
        });
        consumer.start();
        for (int i = 0; i < 2000; i++) {
            queue.put(i);
        }
        queue.put(-1);
        consumer.join();
        Stress.check(sum[0] == 1999L * 2000 / 2, "everything arrives once");
    }
}
