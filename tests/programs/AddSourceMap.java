import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.Label;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;

/**
 * Gives a class file a source map and lines other numbers, as a compiler does that inlines. Arguments: the class file, the file
 * with the map, then OLD=NEW for each line. With JDK 17's own copy of ASM, by which the JDK itself writes classes.
 */
public final class AddSourceMap {
    private AddSourceMap() {}

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        String map = Files.readString(Path.of(args[1]));
        Map<Integer, Integer> numbers = new HashMap<>();
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=");
            numbers.put(Integer.valueOf(pair[0]), Integer.valueOf(pair[1]));
        }
        ClassWriter out = new ClassWriter(0);
        new ClassReader(Files.readAllBytes(file)).accept(new ClassVisitor(Opcodes.ASM8, out) {
            @Override
            public void visitSource(String source, String none) {
                super.visitSource(source, map);
            }

            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] thrown) {
                return new MethodVisitor(Opcodes.ASM8, super.visitMethod(access, name, type, generic, thrown)) {
                    @Override
                    public void visitLineNumber(int line, Label start) {
                        super.visitLineNumber(numbers.getOrDefault(line, line), start);
                    }
                };
            }
        }, 0);
        Files.write(file, out.toByteArray());
    }
}
