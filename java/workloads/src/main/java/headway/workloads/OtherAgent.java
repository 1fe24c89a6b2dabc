package headway.workloads;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/** Another Java agent in the same JVM, which changes LockSupport as well: it adds a constant to it, whenever it is asked. */
public final class OtherAgent implements ClassFileTransformer {
    private static final String TARGET = "java/util/concurrent/locks/LockSupport";
    private static Instrumentation instrumentation;
    private static volatile int transformed;

    private OtherAgent() {}

    public static void premain(String arguments, Instrumentation given) {
        instrumentation = given;
        given.addTransformer(new OtherAgent(), true);
    }

    /** Redefines LockSupport, as agents do: from the JDK's own bytes and through every transformer that is asked then. */
    static void redefine() {
        try {
            instrumentation.retransformClasses(LockSupport.class);
        } catch (UnmodifiableClassException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How often LockSupport went through this agent. */
    static int transformed() {
        return transformed;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] before) {
        if (!TARGET.equals(name)) {
            return null;
        }
        try {
            byte[] after = withOneMoreConstant(before);
            transformed++;
            return after;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] withOneMoreConstant(byte[] before) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(before));
        in.skipNBytes(8);
        int count = in.readUnsignedShort();
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            in.skipNBytes(switch (tag) {
                case 1 -> in.readUnsignedShort();
                case 3, 4, 9, 10, 11, 12, 17, 18 -> 4;
                case 5, 6 -> 8;
                case 15 -> 3;
                default -> 2;
            });
            i += tag == 5 || tag == 6 ? 1 : 0;
        }
        int end = before.length - in.available();
        byte[] constant = {3, 0, 0, 0, 42}; // the int 42
        byte[] after = Arrays.copyOf(before, before.length + constant.length);
        System.arraycopy(constant, 0, after, end, constant.length);
        System.arraycopy(before, end, after, end + constant.length, before.length - end);
        after[8] = (byte) ((count + 1) >> 8);
        after[9] = (byte) (count + 1);
        return after;
    }
}
