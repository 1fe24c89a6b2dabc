import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;

/**
 * main computes for half a second, so that it is no thread in the background, starts others, says "ready PID NS", NS as the clock
 * of System.nanoTime has it, and returns. Argument: "accepts", a server that nobody calls, until a signal comes; "exits", one that
 * sleeps for three seconds and then ends the JVM; "stops", a hundred deep stacks that main asks for twenty times, which stops the
 * JVM, while another thread computes.
 */
public final class Idle {
    private static final int DEEP = 800;
    private static final int CROWD = 100;
    private static volatile double sink;
    private static volatile boolean isOver;

    private Idle() {}

    static void accept() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            socket.accept();
        } catch (java.io.IOException refused) {
            throw new AssertionError(refused);
        }
    }

    static void exit() {
        sleep(3_000);
        System.exit(0);
    }

    static void sleep(long millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException ended) {
            throw new AssertionError(ended);
        }
    }

    static void compute(long millis) {
        long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        double x = 1;
        while (System.nanoTime() < endNs) {
            for (int i = 0; i < 10_000; i++) {
                x = x * 1.0000001 + 1e-9;
            }
        }
        sink = x;
    }

    static void dive(int depth) {
        if (depth > 0) {
            dive(depth - 1);
        } else {
            sleep(60_000);
        }
    }

    static void ask() {
        for (int i = 0; i < 20; i++) {
            if (Thread.getAllStackTraces().size() < CROWD) {
                throw new AssertionError("threads are missing");
            }
            sleep(20);
        }
        isOver = true;
    }

    public static void main(String[] args) {
        compute(500);
        switch (args[0]) {
            case "accepts" -> new Thread(Idle::accept, "server").start();
            case "exits" -> new Thread(Idle::exit, "server").start();
            case "stops" -> {
                for (int i = 0; i < CROWD; i++) {
                    Thread deep = new Thread(() -> dive(DEEP), "deep " + i);
                    deep.setDaemon(true);
                    deep.start();
                }
                new Thread(() -> {
                    while (!isOver) {
                        compute(1);
                    }
                }, "works").start();
                ask();
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.println("ready " + ProcessHandle.current().pid() + " " + System.nanoTime());
    }
}
