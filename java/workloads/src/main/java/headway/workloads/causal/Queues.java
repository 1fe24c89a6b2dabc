package headway.workloads.causal;

import headway.workloads.Work;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** Threads that hand work on to each other. */
final class Queues {
    private Queues() {}

    /** Three stages, the second one the longest: it counts until the cores are what is missing. */
    static void pipeline(Play play) {
        Load read = play.micros("read", 300);
        Load change = play.micros("change", 800);
        Load write = play.micros("write", 300);
        BlockingQueue<Long> wasRead = new ArrayBlockingQueue<>(8);
        BlockingQueue<Long> wasChanged = new ArrayBlockingQueue<>(8);
        play.forever("read", x -> {
            long begun = Progress.begun();
            x = Work.spin(x, read.size()); // line: read
            wasRead.put(begun);
            return x;
        });
        play.forever("change", x -> {
            Long item = wasRead.take();
            x = Work.spin(x, change.size()); // line: change
            wasChanged.put(item);
            return x;
        });
        play.forever("write", x -> {
            Long item = wasChanged.take();
            x = Work.spin(x, write.size()); // line: write
            Progress.done(item);
            return x;
        });
    }

    /** A producer that waits for a consumer that sleeps: only the sleep counts, until the producer is the slower one. */
    static void sleeper(Play play) {
        Load produce = play.micros("produce", 1000);
        Load sleep = play.pieces("sleep", 4 * play.longer());
        BlockingQueue<Long> queue = new ArrayBlockingQueue<>(4);
        play.forever("producer", x -> {
            x = Work.spin(x, produce.size()); // line: produce
            queue.put(1L);
            return x;
        });
        play.forever("consumer", x -> {
            queue.take();
            if (sleep.size() > 0) {
                Thread.sleep(sleep.size()); // line: sleep
            }
            Progress.visited();
            return x;
        });
    }

    /** A question goes through a pipe of the kernel, the answer through another one: who waits for it is in a system call. */
    static void pipes(Play play) throws Exception {
        Load ask = play.micros("ask", 500);
        Load answer = play.micros("answer", 500);
        Pipe there = Pipe.open();
        Pipe back = Pipe.open();
        play.forever("asks", x -> {
            x = Work.spin(x, ask.size()); // line: ask
            there.sink().write(ByteBuffer.allocate(1));
            back.source().read(ByteBuffer.allocate(1));
            Progress.visited();
            return x;
        });
        play.forever("answers", x -> {
            there.source().read(ByteBuffer.allocate(1));
            x = Work.spin(x, answer.size()); // line: answer
            back.sink().write(ByteBuffer.allocate(1));
            return x;
        });
    }
}
