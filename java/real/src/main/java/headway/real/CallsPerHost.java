package headway.real;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * OkHttp with many calls to one host at once, whose answers take so many milliseconds. Prints how many calls it lets run at once, how many
 * were answered, and the wall time from the first to the last, in ns.
 */
public final class CallsPerHost {
    private CallsPerHost() {}

    /** Arguments: the number of calls, the milliseconds of an answer, and how many calls to a host may run at once, if not OkHttp's own. */
    public static void main(String[] args) throws IOException, InterruptedException {
        int calls = Integer.parseInt(args[0]);
        try (SlowHost host = new SlowHost(Integer.parseInt(args[1]))) {
            OkHttpClient client = new OkHttpClient();
            if (args.length > 2) {
                client.dispatcher().setMaxRequestsPerHost(Integer.parseInt(args[2]));
            }
            Request request = new Request.Builder().url("http://127.0.0.1:" + host.port() + "/").build();
            CountDownLatch done = new CountDownLatch(calls);
            LongAdder answered = new LongAdder();
            long began = System.nanoTime();
            for (int i = 0; i < calls; i++) {
                client.newCall(request).enqueue(new Callback() {
                    @Override
                    public void onFailure(Call call, IOException error) {
                        done.countDown();
                    }

                    @Override
                    public void onResponse(Call call, Response response) throws IOException {
                        try (response) {
                            answered.add(response.isSuccessful() ? 1 : 0);
                        }
                        done.countDown();
                    }
                });
            }
            done.await();
            long wall = System.nanoTime() - began;
            System.out.println(client.dispatcher().getMaxRequestsPerHost() + " " + answered.sum() + " " + wall);
            client.dispatcher().executorService().shutdown();
            client.connectionPool().evictAll();
        }
    }
}
