import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Runs code of the JVM that is no Java method, each kind on one line of its own, for so many seconds of CPU time in turns; then
 * says how much each took, by the thread's own clock: {@code Intrinsics SECONDS}.
 */
public class Intrinsics {
  interface Kernel {
    void run() throws Exception;
  }

  static final byte[] BYTES = new byte[1 << 16];
  static final byte[] COPY = new byte[1 << 16];
  static final int[] NUMBERS = new Random(1).ints(1 << 14).toArray();
  static final int[] SORTED = new int[NUMBERS.length];
  static final char[] CHARS = new char[2000];
  static final CRC32 CRC = new CRC32();
  static volatile double sink;
  static MessageDigest digest;
  static Cipher cipher;

  static void sin() {
    double x = 0;
    for (int i = 1; i < 8000; i++) x += Math.sin(i + x);
    sink = x;
  }

  static void pow() {
    double x = 1;
    for (int i = 1; i < 8000; i++) x += Math.pow(i, 0.3 + x * 1e-20);
    sink = x;
  }

  static void copy() {
    for (int i = 0; i < 200; i++) System.arraycopy(BYTES, 0, COPY, 0, BYTES.length);
    sink = COPY[7];
  }

  static void crc() {
    for (int i = 0; i < 60; i++) CRC.update(BYTES, 0, BYTES.length);
    sink = CRC.getValue();
  }

  static void sha() {
    for (int i = 0; i < 4; i++) digest.update(BYTES);
    sink = digest.digest()[0];
  }

  static void aes() throws Exception {
    for (int i = 0; i < 10; i++) cipher.update(BYTES, 0, BYTES.length, COPY, 0);
    sink = COPY[5];
  }

  static void sort() {
    System.arraycopy(NUMBERS, 0, SORTED, 0, NUMBERS.length);
    Arrays.sort(SORTED);
    sink = SORTED[9];
  }

  static void compress() {
    for (int i = 0; i < 2000; i++) sink += new String(CHARS).length();
  }

  static void remainder() {
    double x = 0;
    for (int i = 1; i < 8000; i++) x += (1e18 * i + x) % (i + 0.37);
    sink = x;
  }

  static void java() {
    double x = 1;
    for (int i = 0; i < 300_000; i++) x = x * 1.0000001 + 1e-9;
    sink = x;
  }

  public static void main(String[] args) throws Exception {
    digest = MessageDigest.getInstance("SHA-256");
    cipher = Cipher.getInstance("AES/CBC/NoPadding");
    cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(new byte[16], "AES"), new IvParameterSpec(new byte[16]));
    Arrays.fill(CHARS, 'q');
    Kernel[] kernels = {
      Intrinsics::sin, Intrinsics::pow, Intrinsics::copy, Intrinsics::crc, Intrinsics::sha, Intrinsics::aes,
      Intrinsics::sort, Intrinsics::compress, Intrinsics::remainder, Intrinsics::java
    };
    String[] names = {"sin", "pow", "copy", "crc", "sha", "aes", "sort", "compress", "remainder", "java"};
    long[] cpuNs = new long[kernels.length];
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    long endNs = clock.getCurrentThreadCpuTime() + (long) (Double.parseDouble(args[0]) * 1e9);
    while (clock.getCurrentThreadCpuTime() < endNs) {
      for (int k = 0; k < kernels.length; k++) {
        // Until some CPU time is over: all kinds get the same, however fast the machine has them.
        long beganNs = clock.getCurrentThreadCpuTime();
        long nowNs = beganNs;
        while (nowNs - beganNs < 4_000_000) {
          kernels[k].run();
          nowNs = clock.getCurrentThreadCpuTime();
        }
        cpuNs[k] += nowNs - beganNs;
      }
    }
    for (int k = 0; k < kernels.length; k++) {
      System.out.println("{\"event\": \"" + names[k] + "\", \"cpu_ns\": " + cpuNs[k] + "}");
    }
  }
}
