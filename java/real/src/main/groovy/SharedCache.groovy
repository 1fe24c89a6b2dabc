// A script whose pool of threads shares one lock, a java.util.concurrent one that Groovy calls. Arguments: threads, tasks, whether the lock
// is one for all tasks (shared) or one of each task (own), and how many ms a task sleeps with it (5). Prints the wall time of the tasks and how long they waited for the lock, in ns.
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.LongAdder
import java.util.concurrent.locks.ReentrantLock

def shared = new ReentrantLock()
def waited = new LongAdder()
def done = new LongAdder()

long asleep = args.length > 3 ? args[3] as long : 5

def refresh = { lock ->
    long began = System.nanoTime()
    lock.lock() // waits
    try {
        waited.add(System.nanoTime() - began)
        Thread.sleep(asleep)
        done.increment()
    } finally {
        lock.unlock()
    }
}

int threads = args[0] as int
def pool = Executors.newFixedThreadPool(threads)
long began = System.nanoTime()
(args[1] as int).times {
    pool.submit { refresh(args[2] == 'shared' ? shared : new ReentrantLock()) }
}
pool.shutdown()
pool.awaitTermination(1, TimeUnit.MINUTES)
println "${System.nanoTime() - began} ${waited.sum()} ${done.sum()}"
