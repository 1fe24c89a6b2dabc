import java.io.BufferedReader;
import java.io.InputStreamReader;

/** For each line of its input starts the command that it is, and prints the process's number; ends with its input. */
final class ForkingWork {
    private ForkingWork() {}

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(new ProcessBuilder(line.split(" ")).start().pid());
        }
    }
}
