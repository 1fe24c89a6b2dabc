package headway.real;

import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;

/**
 * A Quartz scheduler with five workers and a short job every half second. Prints 0, as it has no port; answers each line with how
 * many jobs ran and for how long, in ns, and ends with standard input.
 */
public final class QuartzScheduler {
    private static final AtomicLong JOBS = new AtomicLong();
    private static final AtomicLong WORKED_NS = new AtomicLong();

    private QuartzScheduler() {}

    /** Computes for a millisecond. */
    public static final class Tick implements Job {
        /** Quartz makes one for each time. */
        public Tick() {}

        @Override
        public void execute(JobExecutionContext context) {
            long beganNs = System.nanoTime();
            while (System.nanoTime() - beganNs < 1_000_000) {
                Thread.onSpinWait();
            }
            JOBS.incrementAndGet();
            WORKED_NS.addAndGet(System.nanoTime() - beganNs);
        }
    }

    /**
     * Runs the scheduler until standard input ends.
     *
     * @param args none
     * @throws SchedulerException where Quartz can't start
     */
    public static void main(String[] args) throws SchedulerException {
        Properties properties = new Properties();
        properties.setProperty("org.quartz.threadPool.threadCount", "5");
        properties.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
        properties.setProperty("org.quartz.threadPool.class", "org.quartz.simpl.SimpleThreadPool");
        Scheduler scheduler = new StdSchedulerFactory(properties).getScheduler();
        scheduler.start();
        scheduler.scheduleJob(
                JobBuilder.newJob(Tick.class).build(),
                TriggerBuilder.newTrigger()
                        .withSchedule(SimpleScheduleBuilder.simpleSchedule()
                                .withIntervalInMilliseconds(500)
                                .repeatForever())
                        .build());
        System.out.println(0);
        try (Scanner input = new Scanner(System.in)) {
            while (input.hasNextLine()) {
                input.nextLine();
                System.out.println(JOBS.get() + " " + WORKED_NS.get());
            }
        }
        scheduler.shutdown(true);
        System.out.println(JOBS.get() + " " + WORKED_NS.get());
    }
}
