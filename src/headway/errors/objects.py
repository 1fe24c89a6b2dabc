"""HW80x, HW84x: objects, who allocates, reads and writes them (`headway objects`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW800",
        "a recording without objects",
        "{path} has nothing of objects",
        "Who allocates what is recorded only when it is asked for, as it slows the program down.",
        "headway record --objects allocations -o NAME.headway -- CMD   (accesses,owners: who uses whose objects; accesses,lines: "
        "which fields share a cache line; accesses,nodes: on which memory node they are)",
    ),
    Message(
        "HW801",
        "a JVM whose allocations were not recorded",
        "the allocations of JVM {pid} were not recorded: {reason}",
        "The JVM reports allocations to one agent at a time. Older JVMs, and others than HotSpot, do not report them at all.",
        "headway record --objects allocations -o NAME.headway -- CMD   (without the other agent, such as another profiler)",
    ),
    Message(
        "HW802",
        "allocations before the attach are unseen",
        "JVM {pid} ran already: of each thread, what it allocated before, and the first megabyte or more since, is not counted",
        "A thread allocates in a buffer of its own (TLAB), and the JVM reports its allocations only from the next buffer on. "
        "A buffer has about a megabyte; in large heaps it may have a hundred.",
        "headway record --objects allocations -o NAME.headway -- CMD   (from the start of the JVM on)",
    ),
    Message(
        "HW803",
        "allocations without a row of their own",
        "{objects} objects are in rows of several threads or classes together: there were too many of those",
        "The agent keeps sums for 65,536 combinations of thread, class and site, and as many names of classes; what comes "
        "later is counted for its class, or for all together. So totals are right, and parts are too small.",
        "ask for less: headway record --objects allocations (without sites), or fewer threads",
    ),
    Message(
        "HW804",
        "the last sums of allocations are missing",
        "JVM {pid} did not write its last sums: what it allocated in about the last second, or longer, is missing",
        "The JVM was killed, did not answer when the recording ended, or its file was full. Sums are written once a second, less "
        "often where there are many, and at the end.",
        "headway record --objects allocations -o NAME.headway -- CMD   (until CMD has ended by itself)",
    ),
    Message(
        "HW805",
        "allocations as they really happened",
        "objects that were really allocated are counted, from the JVM's initialisation on",
        "What the program's code asks for and the JIT compiler has removed was never allocated, and is not counted. What the "
        "JVM allocates itself (strings, boxes, lambdas, copies) is. What it allocated before it was initialised (about a "
        "megabyte) or while it shuts down is not, nor is what its own first threads (Finalizer, Reference Handler, ...) "
        "allocate in the buffer (TLAB) that each had by then.",
        "headway explain HW805",
        NOTE,
    ),
    Message(
        "HW806",
        "accesses were not recorded",
        "reads and writes of objects were not recorded",
        "They are counted only when it is asked for, as it slows the program down; in JSON `accesses` is null.",
        "headway record --objects accesses -o NAME.headway -- CMD",
        NOTE,
    ),
    Message(
        "HW807",
        "allocations are estimated",
        "allocations are estimated from a sample, of one object in about {interval} bytes: figures have 95 % intervals",
        "The JVM picks at random after how many bytes it reports the next object, so how likely an object is to be reported "
        "follows from its size. Figures are sums of 1/probability; few samples make wide intervals.",
        "headway record --objects allocations -o NAME.headway -- CMD   (all of them)",
        NOTE,
    ),
    Message(
        "HW808",
        "the first allocations of main are unseen",
        "the first objects of the main thread of JVM {pid} are not counted: its allocation buffer (TLAB) is larger than 256 "
        "MB",
        "A thread allocates in a buffer of its own (TLAB), and the JVM reports its allocations only from the next buffer on. "
        "The agent uses the main thread's first buffer up before the program starts, unless it is as large as that.",
        "headway record --objects allocations -o NAME.headway -- java -XX:TLABSize=1m ...",
    ),
    Message(
        "HW809",
        "a program that counting its objects slowed down",
        "counting the {objects} objects of one thread took it some {seconds} s of {wall_s} s: times and rates are of a slower "
        "program",
        "Counting every object takes the thread that allocates it about half a microsecond, with its site more than twice that, "
        "as measured by benchmarks/objects_overhead.py (docs/reference/benchmark-history.md). Numbers and sizes of objects are "
        "right all the same.",
        "headway record --objects allocations=512k -o NAME.headway -- CMD   (a sample, which costs next to nothing)",
    ),
    Message(
        "HW815",
        "owners by a rule that was not recorded",
        "{path} does not have the owners of objects by {rule}; it has them by {known}",
        "An object's owner is the thread that allocated it (allocator), or the one that wrote to it last (last-writer). By which "
        "of them accesses are counted is said when a program is recorded; both may be asked for.",
        "headway record --objects accesses --owner {rule} -o NAME.headway -- CMD",
    ),
    Message(
        "HW816",
        "accesses by the thread that wrote last",
        "an object's owner is the thread that wrote to it last, before the first write the one that allocated it; {wrong}",
        "A write counts for the owner that the object had before it. Writes are those of the code in scope, and count for the"
        " object as a whole; what the JDK's own code (collections, System.arraycopy, atomics, VarHandle, reflection) and "
        "native code write changes no owner. Owners are unknown of objects that the JDK allocates until the code in scope "
        "writes to them, of objects of classes out of scope, of those that one of more than 253 threads wrote to, and of "
        "those whose identity hash the program had asked for before the agent could number them; virtual threads are one "
        "owner together. A small share of such hashes look like a number: this message says how many accesses may be counted "
        "for a wrong owner. Of two threads that write at once, in a data race, either may count as the last. An index out of "
        "bounds counts as an access.",
        "headway objects NAME.headway --matrix   (which thread uses what another one wrote last)",
        NOTE,
    ),
    Message(
        "HW817",
        "more objects than have numbers",
        "JVM {pid} numbered {count:,} objects, as many as it can: of objects that it allocated later no owner is known",
        "Who wrote last is kept in a table by the object's number, a byte each; numbers are not given twice, as nobody says when "
        "an object is dead. Accesses to objects without a number are of unknown owners, by either rule; --owner allocator alone "
        "numbers no objects and has no such limit.",
        "headway record --objects accesses --owner last-writer --object-scope 'com.acme.*' -o NAME.headway -- CMD",
    ),
    Message(
        "HW818",
        "writes that change no last writer",
        "JVM {pid} ran code in scope whose writes are not noted, {count:,} instructions in classes that are counted: what a "
        "thread seems to have written last itself counts as unknown",
        "A method that would be longer than 8,000 bytes with a call for each write has no such calls, as the JVM would "
        "compile it no more; nor have classes that are left out as a whole. There another thread may write to an object "
        "unseen. Where another thread is named as the last writer, that is the last write that was noted: an unseen one may "
        "be later.",
        "headway record --objects accesses --owner last-writer --object-scope 'com.acme.*' -o NAME.headway -- CMD",
    ),
    Message(
        "HW840",
        "a JVM whose accesses were not counted",
        "the reads and writes of JVM {pid} were not counted: {reason}",
        "Accesses are counted by code that headway's agent puts into classes as they are loaded, from the JVM's start on.",
        "headway record --objects accesses -o NAME.headway -- CMD",
    ),
    Message(
        "HW841",
        "accesses that were not counted",
        "JVM {pid} has code whose reads and writes are not counted: {what}",
        "Methods that would be longer than 8,000 bytes with the counts are left alone, because the JVM compiles none so "
        "long, and so are exception handlers that cover themselves, classes that headway's agent can't read, and what it "
        "has no room for: 65,536 counters, 8,192 threads at a time. Sums are too low by what that code does, which is "
        "not known.",
        "headway record --objects accesses --object-scope 'com.acme.*' -o NAME.headway -- CMD   (fewer classes)",
    ),
    Message(
        "HW842",
        "the last counts of accesses are missing",
        "JVM {pid} did not write its last counts: its reads and writes of about the last second, or longer, are missing",
        "The JVM was killed, did not answer when the recording ended, or its file was full. Counts are written once a "
        "second, less often where there are many, and at the end.",
        "headway record --objects accesses -o NAME.headway -- CMD   (until CMD has ended by itself)",
    ),
    Message(
        "HW843",
        "a program that counts its accesses",
        "the program counted its own reads and writes, which takes it several times as long: times and rates are of a slower "
        "program",
        "Each straight piece of code that reads or writes has a call behind it that adds 1 to a counter of its thread "
        "(benchmarks/access_overhead.py; docs/reference/benchmark-history.md). Numbers of accesses are right all the same.",
        "headway run -- CMD   (for times, without --objects accesses)",
    ),
    Message(
        "HW844",
        "accesses to objects of unknown owners",
        "whose objects they are is not known",
        "Counted is what the code of the classes in scope does, whoever allocated the object. What the JDK's own code does "
        "for it (collections, System.arraycopy, atomics, VarHandle, reflection) is not counted, nor are lambdas' hidden "
        "classes. `x++` is a read and a write. An access that fails is not counted, nor are those before it in the same "
        "straight piece of code.",
        "headway record --objects accesses --owner allocator,last-writer -o NAME.headway -- CMD   (whose objects they are)",
        NOTE,
    ),
    Message(
        "HW845",
        "accesses without a row of their own",
        "{accesses} accesses are in rows of several threads together: there were too many of those",
        "The agent keeps counts for 65,536 combinations of thread and class; what comes later is counted for its class. "
        "So totals are right, and those of threads are too small.",
        "headway record --objects accesses --object-scope 'com.acme.*' -o NAME.headway -- CMD   (fewer classes)",
    ),
    Message(
        "HW846",
        "no class whose accesses are counted",
        "JVM {pid} loaded no class whose reads and writes were to be counted",
        "Counted are the classes that --object-scope names, by default those of the program and its libraries. The JDK's own "
        "(java.*, jdk.*, sun.*, com.sun.*) are never counted.",
        "headway record --objects accesses --object-scope 'com.acme.*' -o NAME.headway -- CMD",
    ),
    Message(
        "HW847",
        "accesses by the thread that allocated the object",
        "an object's owner is the thread that allocated it; {wrong}",
        "Owners are unknown of what the JDK allocates (copies of collections, strings' arrays, what is read from streams), of"
        " objects of classes out of scope, of more than 253 threads, and of what is used in methods that would be too long "
        "with such counts; virtual threads are one owner together. An object's owner is noted in its identity hash. Where the"
        " program has asked for the hash before the agent could note the owner there, the owner is unknown, but for a small "
        "share of such objects, whose hash looks like an owner's: this message says how many accesses that may be. The counts"
        " are those without owners, but for accesses that fail: all of those before them are counted, and an index out of "
        "bounds is an access. The program's own identity hashes differ in 19 bits instead of 31.",
        "headway objects NAME.headway --matrix   (which thread uses whose objects)",
        NOTE,
    ),
    Message(
        "HW848",
        "a JVM that does not tell of owners",
        "whose objects JVM {pid} reads and writes is not known: it makes identity hashes in a way that headway does not know",
        "The owner of an object, or its number, is noted in its identity hash. Before, the agent looks whether the JVM makes and "
        "keeps them as HotSpot of JDK 17 to 25 does, by trying; -XX:hashCode is another way. Accesses are counted all the same.",
        "headway record --objects accesses -o NAME.headway -- CMD   (without owners)",
    ),
    Message(
        "HW849",
        "more rows of objects than an answer has",
        "of {what} the {shown:,} largest rows are shown and {count:,} smaller ones are left out",
        "An answer has at most 65,536 rows of allocations and of accesses each, as many as an agent tells apart in one JVM, "
        "and 1,024 pairs of memory nodes, so that it fits in memory. Totals are of all rows.",
        "headway objects RECORDING --by class, or headway query RECORDING 'SELECT ... FROM allocation'",
        NOTE,
    ),
    Message(
        "HW813",
        "a JVM whose cache lines were not watched",
        "which threads of JVM {pid} write in turn to one cache line is not known: where its objects are can't be seen",
        "At each write the agent reads the object's address from the JVM's handle of it, once it has found at the start that "
        "handles lead to objects, as they do in HotSpot of JDK 17 to 25. Accesses are counted all the same.",
        "headway record --objects accesses -o NAME.headway -- CMD   (without lines)",
    ),
    Message(
        "HW814",
        "writes whose cache lines were not watched",
        "JVM {pid} wrote where cache lines were not watched: {what}",
        "A method that would be longer than 8,000 bytes with a call for each write has none. There is room for 65,535 fields, "
        "65,534 threads, 1,024 sums of each thread, and for the 16 MB of the heap that were written to last. What is counted did "
        "happen; there may be more of it.",
        "headway record --objects accesses,lines --object-scope 'com.acme.*' -o NAME.headway -- CMD   (fewer classes)",
    ),
    Message(
        "HW865",
        "a JVM whose memory nodes were not sampled",
        "to which memory node the accesses of JVM {pid} go is not known: where its objects are can't be seen",
        "The agent reads an object's address from the JVM's handle of it, once it has found at the start that handles lead to "
        "objects, as they do in HotSpot of JDK 17 to 25. Accesses are counted all the same.",
        "headway record --objects accesses -o NAME.headway -- CMD   (without nodes)",
    ),
    Message(
        "HW866",
        "pages whose memory node the kernel does not say",
        "the kernel did not say on which memory node the pages of JVM {pid} are, {count:,} times: those accesses are unknown",
        "The agent asks by move_pages(2) of its own process. Containers often forbid that call, and kernels without NUMA do not "
        "have it.",
        "docker run --cap-add SYS_NICE ...   (or run it outside of the container)",
    ),
    Message(
        "HW867",
        "samples by memory node without room",
        "{count:,} samples of JVM {pid} by memory node are missing: there were too many threads, classes and owners",
        "The agent keeps 98,304 sums of samples; what comes later is left out, or is of many threads together. Shares of "
        "nodes are of the samples that there are.",
        "headway record --objects accesses,nodes --object-scope 'com.acme.*' -o NAME.headway -- CMD   (fewer classes)",
    ),
    Message(
        "HW868",
        "memory nodes from samples",
        "local and remote accesses are estimated from {samples:,} samples, one in about a thousand accesses: shares have 95 % "
        "intervals",
        "At a sampled access it is asked on which node the CPU is and on which the page of the object, or of the element; where "
        "the page is not there yet, once more at the next sample. Each access to an object has the same chance. Fields go by "
        "where their object begins. Accesses in methods without room for it, of classes and threads with fewer than a "
        "thousand, and those behind the last sample, are unknown.",
        "headway objects NAME.headway --by node",
        NOTE,
    ),
    Message(
        "HW819",
        "cache lines were not recorded",
        "which fields threads write in turn on one cache line was not recorded",
        "It is watched only when it is asked for, as it slows the program down; in JSON `lines` is null.",
        "headway record --objects accesses,lines -o NAME.headway -- CMD",
        NOTE,
    ),
    Message(
        "HW864",
        "writes by cache lines as they were seen",
        "a write counts as false sharing where another thread wrote to a different place on the line since this thread wrote "
        "there; whether it cost time depends on how soon, and on which CPUs",
        "Seen are writes of the code in scope to fields of objects and elements of arrays; not those of the JDK's own code "
        "(atomics, VarHandle, collections, System.arraycopy), of native code, of constructors before super(), nor static fields, "
        "nor reads. Where an object lies within its line changes from run to run, and when it is moved: two fields that are less "
        "than 64 bytes apart may share a line in one run and not in the next. A collection moves objects: the first write to a "
        "place after it is not judged. Collectors that move objects while the program runs (ZGC, Shenandoah) may lead to a few "
        "wrong counts. Virtual threads count as the carrier that runs them, whose CPU's cache it is.",
        "headway objects NAME.headway --by field",
        NOTE,
    ),
)
