package headway.real;

import com.lmax.disruptor.SleepingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import java.util.concurrent.CountDownLatch;

/**
 * A Disruptor with sixteen places: four threads that put so many events each into it, and one that takes so many milliseconds for each (0: none).
 * Who finds it full parks for a moment and looks again. Prints the wall time in ns.
 */
public final class RingBuffer {
    private static final int PRODUCERS = 4;
    private static final int PLACES = 16;

    private static final class Event {
        int number;
    }

    static void handle(int millis) throws InterruptedException {
        if (millis > 0) {
            Thread.sleep(millis);
        }
    }

    public static void main(String[] args) throws Exception {
        int events = Integer.parseInt(args[0]);
        int millis = Integer.parseInt(args[1]);
        CountDownLatch left = new CountDownLatch(PRODUCERS * events);
        Disruptor<Event> disruptor = new Disruptor<>(
                Event::new, PLACES, task -> new Thread(task, "consumer"), ProducerType.MULTI, new SleepingWaitStrategy());
        disruptor.handleEventsWith((event, sequence, isLast) -> {
            handle(millis);
            left.countDown();
        });
        disruptor.start();
        long began = System.nanoTime();
        for (int i = 0; i < PRODUCERS; i++) {
            Runnable put = () -> {
                for (int number = 0; number < events; number++) {
                    int one = number;
                    disruptor.publishEvent((event, sequence) -> event.number = one);
                }
            };
            new Thread(put, "producer-" + i).start();
        }
        left.await();
        System.out.println(System.nanoTime() - began);
        disruptor.shutdown();
    }
}
