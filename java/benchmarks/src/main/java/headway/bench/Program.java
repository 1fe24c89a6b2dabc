package headway.bench;

/** A program written by others, with a fixed amount of work. */
interface Program {
  /** Makes the input: not measured by {@link Main}, though a recording of the process sees it. */
  default void prepare(int threads, int items) throws Exception {}

  /** Does all the work, the same at every call: {@code items} pieces of it, with {@code threads} worker threads, whatever the processors are. */
  void run(int threads, int items) throws Exception;
}
