package headway.workloads.raytracer;

/** A ray from a place in a direction of length 1. */
final class Ray {
    double x;
    double y;
    double z;
    double dx;
    double dy;
    double dz;
    double length;
    private double nx;
    private double ny;
    private double nz;

    /** From the origin. */
    Ray(double dx, double dy, double dz) {
        double norm = Math.sqrt(dx * dx + dy * dy + dz * dz);
        this.dx = dx / norm;
        this.dy = dy / norm;
        this.dz = dz / norm;
    }

    /** Goes on from the surface of the sphere that it met. */
    void mirror(double[] spheres, int sphere) {
        x += length * dx;
        y += length * dy;
        z += length * dz;
        double radius = spheres[sphere + 3];
        nx = (x - spheres[sphere]) / radius;
        ny = (y - spheres[sphere + 1]) / radius;
        nz = (z - spheres[sphere + 2]) / radius;
        double twice = 2 * (dx * nx + dy * ny + dz * nz);
        dx -= twice * nx;
        dy -= twice * ny;
        dz -= twice * nz;
    }

    /** How much the surface that it met last is turned to a light. */
    double towards(Ray light) {
        return nx * light.dx + ny * light.dy + nz * light.dz;
    }

    /** From the same place in another direction. */
    Ray turned(Ray other) {
        Ray turned = new Ray(other.dx, other.dy, other.dz);
        turned.x = x;
        turned.y = y;
        turned.z = z;
        return turned;
    }
}
