import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that sleep in one line beside one that works on request. Argument: how many. Each line of standard input is answered by
 * one: "work N" makes N visits, "wait MS" waits so long for nobody, "crowd N" starts threads that stay until "disperse", "end".
 */
public final class Sleepers {
    private static final Object NOBODY = new Object();
    private static volatile double sink;

    private Sleepers() {}

    static void visited() {}

    static void sleep() {
        try {
            while (true) {
                Thread.sleep(1_000); // sleeps
            }
        } catch (InterruptedException ended) {
            throw new AssertionError(ended);
        }
    }

    static void work(int visits) {
        double x = 1;
        for (int i = 0; i < visits; i++) {
            for (int j = 0; j < 400_000; j++) {
                x = x * 1.0000001 + 1e-9;
            }
            visited();
        }
        sink = x;
    }

    static void waitFor(int millis) throws InterruptedException {
        synchronized (NOBODY) {
            NOBODY.wait(millis); // waits
        }
        visited();
    }

    static void stay(CountDownLatch there, CountDownLatch end) {
        there.countDown();
        try {
            end.await();
        } catch (InterruptedException ended) {
            throw new AssertionError(ended);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread thread = new Thread(Sleepers::sleep, "sleeper " + i);
            thread.setDaemon(true);
            thread.start();
        }
        List<Thread> crowd = new ArrayList<>();
        CountDownLatch end = new CountDownLatch(1);
        Scanner in = new Scanner(System.in);
        System.out.println("ready");
        for (String word = in.next(); !word.equals("end"); word = in.next()) {
            switch (word) {
                case "work" -> work(in.nextInt());
                case "wait" -> waitFor(in.nextInt());
                case "crowd" -> {
                    CountDownLatch there = new CountDownLatch(in.nextInt());
                    for (long i = there.getCount(); i > 0; i--) {
                        Thread thread = new Thread(() -> stay(there, end));
                        thread.start();
                        crowd.add(thread);
                    }
                    there.await();
                }
                case "disperse" -> {
                    end.countDown();
                    for (Thread thread : crowd) {
                        thread.join();
                    }
                }
                default -> throw new IllegalArgumentException(word);
            }
            System.out.println(word);
        }
    }
}
