package headway.workloads.raytracer;

/** Spheres below the horizon that mirror each other, under one light. */
final class Scene {
    private static final int ALONG = 8;
    private static final int DEPTH = 4;
    private static final double NEAREST = 1e-6;

    private final double[] spheres = new double[4 * ALONG * ALONG];
    private final Ray light = new Ray(0.4, 0.8, -0.45);

    Scene() {
        for (int i = 0; i < ALONG * ALONG; i++) {
            spheres[4 * i] = i % ALONG - (ALONG - 1) / 2.0;
            spheres[4 * i + 1] = -1.5;
            spheres[4 * i + 2] = 1.5 + i / ALONG;
            spheres[4 * i + 3] = 0.55;
        }
    }

    /** What is seen in a direction, from black (0) to white (1). */
    double colour(double x, double y) {
        Ray ray = new Ray(x, y, 0.5);
        double colour = 0;
        double share = 1;
        for (int depth = 0; depth < DEPTH; depth++) {
            int sphere = hit(ray);
            if (sphere < 0) {
                return colour + share * 0.5 * (1 + ray.dy);
            }
            ray.mirror(spheres, sphere);
            double lit = ray.towards(light) > 0 && hit(ray.turned(light)) < 0 ? ray.towards(light) : 0;
            colour += share * 0.5 * lit;
            share *= 0.5;
        }
        return colour;
    }

    /** The sphere that a ray meets first, -1 if none; the ray's length is set to there. */
    private int hit(Ray ray) {
        int nearest = -1;
        ray.length = Double.MAX_VALUE;
        for (int i = 0; i < spheres.length; i += 4) {
            double x = spheres[i] - ray.x;
            double y = spheres[i + 1] - ray.y;
            double z = spheres[i + 2] - ray.z;
            double along = x * ray.dx + y * ray.dy + z * ray.dz;
            double under = along * along - (x * x + y * y + z * z) + spheres[i + 3] * spheres[i + 3];
            if (under > 0) {
                double at = along - Math.sqrt(under);
                if (at > NEAREST && at < ray.length) {
                    ray.length = at;
                    nearest = i;
                }
            }
        }
        return nearest;
    }
}
