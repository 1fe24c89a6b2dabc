package headway.real;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.atomic.LongAdder;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * Tomcat with one servlet that computes for `?us=N`. Prints its port, and at its end, when standard input ends, how many requests it
 * answered and how long it computed for them.
 */
public final class TomcatServer {
    private static final LongAdder REQUESTS = new LongAdder();
    private static final LongAdder WORKED_NS = new LongAdder();

    private static final class Work extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            long began = System.nanoTime();
            double result = compute(began + Long.parseLong(request.getParameter("us")) * 1000);
            WORKED_NS.add(System.nanoTime() - began);
            REQUESTS.increment();
            response.getWriter().println(result > 0 ? "done" : "no");
        }
    }

    static double compute(long untilNs) {
        double x = 1;
        while (System.nanoTime() < untilNs) {
            x = Math.sqrt(x + 1);
        }
        return x;
    }

    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
        tomcat.setPort(0);
        Context context = tomcat.addContext("", tomcat.getServer().getCatalinaBase().toString());
        Tomcat.addServlet(context, "work", new Work());
        context.addServletMappingDecoded("/work", "work");
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        Thread control =
                new Thread(
                        () -> {
                            try {
                                while (System.in.read() >= 0) {}
                                tomcat.stop();
                            } catch (Exception e) {
                                throw new IllegalStateException(e);
                            }
                        },
                        "control");
        control.setDaemon(true);
        control.start();
        tomcat.getServer().await();
        System.out.println(REQUESTS.sum() + " " + WORKED_NS.sum());
    }
}
