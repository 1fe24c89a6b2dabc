package jdk.internal.access;

/** The part of JDK 24's and later JDKs' interface that the hook class calls: only to compile against. */
public interface JavaLangAccess {
  void parkVirtualThread();

  void parkVirtualThread(long nanos);

  void unparkVirtualThread(Thread thread);
}
