import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** A virtual thread reads bytes that come now and then, and two others sleep with a lock. */
public final class VirtualSockets {
    private static final int BYTES = 20;
    private static final int TURNS = 25;
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static void read(Socket socket) {
        try (InputStream input = socket.getInputStream()) {
            while (input.read() >= 0) {
                Thread.onSpinWait();
            }
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    private static void share() {
        for (int turn = 0; turn < TURNS; turn++) {
            LOCK.lock();
            try {
                Thread.sleep(4);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            } finally {
                LOCK.unlock();
            }
        }
    }

    /** Starts a virtual thread; by reflection, as older compilers know none. */
    private static Thread virtual(Runnable task) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
    }

    public static void main(String[] arguments) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress());
                Socket near = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket far = server.accept()) {
            Thread reader = virtual(() -> read(far));
            List<Thread> sharers = List.of(virtual(VirtualSockets::share), virtual(VirtualSockets::share));
            OutputStream output = near.getOutputStream();
            for (int sent = 0; sent < BYTES; sent++) {
                Thread.sleep(15);
                output.write(sent);
            }
            for (Thread sharer : sharers) {
                sharer.join();
            }
            near.shutdownOutput();
            reader.join();
        }
    }
}
