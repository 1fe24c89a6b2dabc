package jdk.internal.access;

/** The part of later JDKs' interface that the hook classes call: only to compile against. */
public interface JavaLangAccess {
  void parkVirtualThread();

  void parkVirtualThread(long nanos);

  void unparkVirtualThread(Thread thread);

  /** Of JDK 21 and later. */
  Thread currentCarrierThread();
}
