/**
 * A thread reads and writes an array larger than the caches and the fields of objects all over the heap; another one reads and
 * writes what that one allocated. Prints how often each of them did.
 */
final class NodeAccesses {
    private static final class Cell {
        long value;
    }

    private static final int ELEMENTS = 1 << 20;
    private static final int CELLS = 1 << 16;

    private NodeAccesses() {}

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        long[] values = new long[ELEMENTS];
        Cell[] cells = new Cell[CELLS];
        for (int i = 0; i < CELLS; i++) {
            cells[i] = new Cell();
        }
        work(values, cells, rounds);
        Thread other = new Thread(() -> work(values, cells, rounds), "other");
        other.start();
        other.join();
        System.out.println(2L * rounds * (ELEMENTS + CELLS));
    }

    private static void work(long[] values, Cell[] cells, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < ELEMENTS; i++) {
                values[i] += i;
            }
            for (int i = 0; i < CELLS; i++) {
                cells[i].value += i;
            }
        }
    }
}
