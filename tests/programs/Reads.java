import java.io.IOException;

/** Reads bytes from its input, one at a time, and says at the end for how many nanoseconds it waited for them. */
public final class Reads {
    private Reads() {}

    public static void main(String[] args) throws IOException {
        byte[] one = new byte[1];
        long waitedNs = 0;
        System.out.println("ready");
        int got;
        do {
            long beginNs = System.nanoTime();
            got = System.in.read(one); // reads
            waitedNs += System.nanoTime() - beginNs;
        } while (got > 0);
        System.out.println(waitedNs);
    }
}
