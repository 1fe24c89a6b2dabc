import java.util.Scanner;

/**
 * A class whose lines with marks a test says to be inlined from elsewhere. Each "work N" on standard input makes N rounds and is
 * answered by "work"; "end".
 */
public final class Inlined {
    private static volatile double sink;

    private Inlined() {}

    static void round() {
        double x = 1; // calls
        for (int i = 0; i < 200_000; i++) x = x * 1.0000001 + 1e-9; // from Tools
        x = Math.sqrt(x); // calls the library
        for (int i = 0; i < 200_000; i++) x = x * 1.0000001 + 1e-9; // from the library
        twice(); // calls its own
        sink = x; // from its own
    }

    static void twice() {
        sink = 1; // own
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println("ready");
        for (String word = in.next(); !word.equals("end"); word = in.next()) {
            for (int rounds = in.nextInt(); rounds > 0; rounds--) {
                round();
            }
            System.out.println(word);
        }
    }
}
