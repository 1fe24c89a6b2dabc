"""HW874 to HW892, HW900 to HW903: pools, queues, stages, lines of several locks, shared things, in changes (`headway whatif`)."""

from __future__ import annotations

from headway.errors.message import NOTE, Message

ROWS: tuple[Message, ...] = (
    Message(
        "HW874",
        "several thread pools of one name",
        "{path} has several pools whose threads are called {pool}: their threads wait for tasks at {queues}",
        "What another number of workers brings is asked of one pool at a time.",
        "headway whatif {path} --pool 'Condition@HASH=N'",
    ),
    Message(
        "HW875",
        "a pool that has no fixed number of workers",
        "{pool} in {path} is no pool of a fixed number of workers that take tasks from one queue",
        "Pools for fork and join share tasks out otherwise, cached ones start a thread whenever none is free, and scheduled ones "
        "wait for their tasks' time.",
        "headway whatif {path} --cores 1,2,4,8",
    ),
    Message(
        "HW876",
        "two changes of one pool",
        "{pool} is changed twice",
        "Its threads and the queue that they wait at are names of one pool.",
        "ask for one number of workers",
    ),
    Message(
        "HW877",
        "a pool changed together with locks, sleeps or methods",
        "{path}: a pool's workers can't be changed together with locks, sleeps or methods",
        "The replay decides anew which worker takes which task, but locks, sleeps and samples are known by thread, not by "
        "task.",
        "ask for one change after the other",
    ),
    Message(
        "HW878",
        "tasks that are not told apart",
        "{path}: {share} of what the workers of {pool} did may be one task or several in a row; the run would take {least} if "
        "these are small, and {most} if each stretch is one task",
        "A worker that finds a task in the queue takes it without a wait, and where that one begins is seen only if a thread "
        "waits for the one before, in Future.get.",
        "let the program wait for its tasks by Future.get, or ask of a run in which workers wait now and then",
    ),
    Message(
        "HW879",
        "tasks that are shared out anew",
        "{path}: tasks are taken in the order in which they were submitted, by whoever is free first, and are what they were",
        "What more workers would share (caches, connections, a lock) is not in it; nor is anything that a task would do "
        "differently.",
        "make the change, record again, and compare",
        NOTE,
    ),
    Message(
        "HW880",
        "tasks of one pool that wait for each other",
        "{path}: tasks of {pool} waited for other tasks of it for {share} of their time, more than {limit}",
        "With tasks in another order such a wait may be over before it begins, or keep a worker from the very task that it "
        "waits for. Who gets a lock can be decided anew only where each thread goes on doing what it did.",
        "headway locks {path}   (what they wait for)",
    ),
    Message(
        "HW881",
        "a pool of too many tasks",
        "{path}: the workers of {pool} did more than {limit} tasks, or too many threads waited for all of them",
        "Each task is a thread of the replay, which takes some 300 bytes. A stretch that may be several tasks counts as sixteen "
        "or more.",
        "headway record --locks --duration 60s ...   (a shorter run)",
    ),
    Message(
        "HW882",
        "a thread pool that is not in the recording",
        "{path} has no thread pool {pool}{there}",
        "A pool goes by what its threads are called without their numbers, or by the object at which they wait for a task. One "
        "whose threads never wait for a task is not seen as a pool.",
        "headway threads {path}   (for connections or permits: headway whatif {path} --no-wait PLACE)",
    ),
    Message(
        "HW883",
        "tasks that wait for each other in a circle",
        "{path}: with {change} threads and tasks wait for each other in a circle",
        "A task keeps its worker while it waits, perhaps for a task behind it in the queue. With fewer workers the program "
        "itself may come to a standstill like that; or the recording is wrong about what ended a wait.",
        "make the change and try it, or ask for more workers",
    ),
    Message(
        "HW884",
        "a queue that nobody waited for room in",
        "{path}: no thread waited for room in {queue}{there}",
        "A queue goes by the object at which threads wait for room, or by the line that puts something in.",
        "headway locks {path}   (what threads wait for, and where)",
    ),
    Message(
        "HW885",
        "a queue whose waits for room can't be left out",
        "{path}: what room in {queue} would bring is not known: {reason}",
        "A thread that does not wait for room goes on; for that the replay has to know its wait, and who ended it.",
        "headway why {path}   (the most that could be gained there)",
    ),
    Message(
        "HW886",
        "equal parts together with other sleeps or methods",
        "{path}: parts of stages can't be made equal together with changes of sleeps or methods",
        "How long parts are is what was recorded; with other sleeps or methods they would be others.",
        "ask for one change after the other",
    ),
    Message(
        "HW887",
        "a queue that is taken to be large enough",
        "{path}: the prediction has nobody wait for room in {queue}; at most {count} of the recorded waits for room, each for "
        "one element, are left out at the same time",
        "How much room the queue had, and how much was put in between two waits, is not recorded: the interval reaches to the "
        "run with its waits.",
        "make the change, record again, and compare",
        NOTE,
    ),
    Message(
        "HW888",
        "no parallel stage that ends there",
        "{path}: no thread waits for the parts of others at {place}{there}",
        "A stage goes by the line at which threads wait for its end: a barrier, a join, a latch or a result.",
        "headway why {path}   (the place of an imbalance)",
    ),
    Message(
        "HW889",
        "parts that can't be told apart",
        "{path}: parts at {place} can't be made equal: {reason}",
        "The parts of a stage are what the threads that were waited for did in it, and those called alike.",
        "headway why {path}   (who was waited for there)",
    ),
    Message(
        "HW890",
        "parts that are made equal",
        "{path}: each thread that had a part of a stage computes, sleeps and waits for I/O in it as long as the others",
        "That parts can be cut so, and what cutting them costs, the recording does not know. Stages at whose end nobody waited "
        "stay as they were.",
        "make the change, record again, and compare",
        NOTE,
    ),
    Message(
        "HW891",
        "a queue that would be full again",
        "{path}: room for {room} in {queue} is not enough: {count} elements or more would be in it beyond what it had room for",
        "The prediction is for a queue at which nobody waits for room. With less room threads would still wait there, though "
        "less.",
        "headway whatif {path} --queue '{example}={count}0'   (ask for more)",
    ),
    Message(
        "HW892",
        "a changed line at which threads wait for other things, too",
        "{path}: at {place} threads also waited {time} for what is no lock that one thread has at a time; that stays as it was",
        "A line stands for all that is waited for there. Who has a place in a pool, a permit or a read lock is not recorded, so "
        "it can't be decided anew who gets it next.",
        "headway why {path}   (the most that could be gained there)",
    ),
    Message(
        "HW900",
        "no waiting for a shared thing there",
        "in {path} no thread waited at {place} for what several may have at once{there}",
        "Such things are connections of a pool, permits of a semaphore, read locks, and locks that a library made itself. For a "
        "lock that one thread has at a time there is --without-lock, for room in a queue --queue, for a free worker --pool.",
        "headway why {path}   (what threads waited for, and where)",
    ),
    Message(
        "HW901",
        "virtual threads waited for a shared thing",
        "in {path} virtual threads waited at {place}: what becomes of the run without that is not predicted",
        "The replay has no virtual threads: while one waits its carrier runs others, and who would run when is not decided anew.",
        "headway why {path}   (the most that could be gained there)",
    ),
    Message(
        "HW902",
        "as many as are enough",
        "{path}: the prediction has nobody wait at {place}, where {threads} threads waited; one for each of them is enough where "
        "each takes one at a time and nobody else needs any",
        "How many there were is not recorded, nor who had one when, so it is not predicted what fewer would bring.",
        "make the change, record again, and compare",
        NOTE,
    ),
    Message(
        "HW903",
        "threads that looked for room again and again",
        "{path}: threads waited {time} for room at {place} by looking {count} times whether there was any; a prediction keeps "
        "these waits as they were",
        "Nobody ends such a wait, as a producer's parkNanos in a ring buffer: the thread sleeps for a moment and looks. Were "
        "there room earlier it would look less often; how often is not known, so headway why gives no likely gain, and headway "
        "whatif too small a one of whatever makes room.",
        "make the change, record again, and compare",
    ),
)
