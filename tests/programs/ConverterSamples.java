import java.nio.charset.StandardCharsets;
import one.jfr.ClassRef;
import one.jfr.JfrReader;
import one.jfr.MethodRef;
import one.jfr.StackTrace;
import one.jfr.event.AllocationSample;
import one.jfr.event.Event;
import one.jfr.event.ExecutionSample;

/** Prints the samples of a JFR file as async-profiler's own reader sees them: kind, ns, weight, thread and frames, by tabs. */
public class ConverterSamples {
  public static void main(String[] arguments) throws Exception {
    try (JfrReader reader = new JfrReader(arguments[0])) {
      for (Event event; (event = reader.readEvent()) != null; ) {
        String row = null;
        if (event instanceof ExecutionSample) {
          row = "run\t" + ((ExecutionSample) event).samples;
        } else if (event instanceof AllocationSample) {
          row = "alloc\t" + ((AllocationSample) event).allocationSize + ":" + ((AllocationSample) event).tlabSize;
        }
        if (row != null) {
          System.out.println(row + "\t" + nanos(reader, event) + "\t" + reader.threads.get(event.tid) + frames(reader, event));
        }
      }
    }
  }

  /** The file's ticks as nanoseconds. */
  private static long nanos(JfrReader reader, Event event) {
    return (long) (event.time / (reader.ticksPerSec / 1e9));
  }

  private static String frames(JfrReader reader, Event event) {
    StackTrace stack = reader.stackTraces.get(event.stackTraceId);
    StringBuilder out = new StringBuilder();
    for (int i = 0; stack != null && i < stack.methods.length; i++) {
      MethodRef method = reader.methods.get(stack.methods[i]);
      ClassRef type = reader.classes.get(method.cls);
      out.append('\t').append(type == null ? "" : text(reader, type.name).replace('/', '.'));
      out.append('|').append(text(reader, method.name)).append('|').append(stack.locations[i] >>> 16);
      out.append('|').append(reader.getEnumValue("jdk.types.FrameType", stack.types[i]));
    }
    return out.toString();
  }

  private static String text(JfrReader reader, long symbol) {
    byte[] bytes = reader.symbols.get(symbol);
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }
}
