package headway.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs a driven program in which what headway's call sites do can be switched: {@code java --add-opens
 * java.base/jdk.internal.misc=ALL-UNNAMED -cp ... headway.bench.HookSwitch CLASS [ARGUMENT...]}. A line "locks on" or "locks off"
 * on standard input sets the switch that they look at before they record a park, "causal on" or "causal off" the one before
 * they tell the causal profiler; it is answered by "{}". All other lines are the program's.
 *
 * <p>The call sites stay in, and the code that is compiled stays the same: what is compared differs in the recording alone.
 */
public final class HookSwitch {
  private HookSwitch() {}

  public static void main(String[] args) throws Exception {
    System.setIn(new Others(System.in));
    Class<?> program = Class.forName(args[0]);
    program.getMethod("main", String[].class).invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
  }

  private static void set(String name, boolean on) {
    try {
      Field field = Class.forName("jdk.internal.misc.HeadwayHook0", true, null).getDeclaredField(name);
      field.setAccessible(true);
      field.setBoolean(null, on);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("headway's call sites are not in here", e);
    }
    System.out.println("{}");
    System.out.flush();
  }

  /** The lines that are not for the switch, one for each read. */
  private static final class Others extends InputStream {
    private final BufferedReader all;
    private byte[] line = {};
    private int next;

    Others(InputStream all) {
      this.all = new BufferedReader(new InputStreamReader(all, StandardCharsets.US_ASCII));
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0];
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      while (next == line.length) {
        String word = all.readLine();
        if (word == null) {
          return -1;
        }
        if (word.startsWith("locks ")) {
          set("on", word.equals("locks on"));
        } else if (word.startsWith("causal ")) {
          set("causal", word.equals("causal on"));
        } else {
          line = (word + "\n").getBytes(StandardCharsets.US_ASCII);
          next = 0;
        }
      }
      int count = Math.min(length, line.length - next);
      System.arraycopy(line, next, to, offset, count);
      next += count;
      return count;
    }
  }
}
