package burst.invoker.pool

import burst.protocol.DefinitionRef

/** `memoryMiB` is per worker. */
final case class PackSize(workers: Int, memoryMiB: Int)

/** What the next pack is taken to be like: of this size, and its program of this kind where an interpreter
  * that waits for its function could run it.
  */
final case class PackGuess(size: PackSize, kind: Option[String])

object PackGuess:
  def of(shape: PackShape): PackGuess =
    val definition = shape.definition
    // as the runtime has it
    val interpreted =
      definition.kind != DefinitionRef.Rust && definition.concurrency == 1 && shape.environment.isEmpty
    PackGuess(PackSize(shape.workers, shape.memoryMiB), Option.when(interpreted)(definition.kind))

/** The containers that wait for a pack of whatever definition: pure; `Invoker` acts on what is decided here.
  * `wanted` are to be `ready`; they are started one at a time, so as to be in nobody's way. With each start
  * in a row that fails the pause before the next is doubled, counted in heartbeats. They are made for packs
  * like the one that was asked for last, which is the `guess`; until one was, and nobody has one, there is
  * none.
  */
final case class PrewarmPool[C](
    wanted: Int,
    guess: Option[PackGuess],
    ready: Vector[C] = Vector.empty[C],
    starting: Boolean = false,
    failures: Int = 0,
    pause: Int = 0
):
  /** Whether one more would be kept. */
  def hasRoom: Boolean = ready.size < wanted

  /** What the one is for that it is time to start. */
  def lacking: Option[PackGuess] = guess.filter(_ => !starting && pause == 0 && hasRoom)

  /** A heartbeat has passed. */
  def beat: PrewarmPool[C] = copy(pause = (pause - 1).max(0))

  /** For such a pack: the one that has waited longest. */
  def take(wanted: PackGuess): (Option[C], PrewarmPool[C]) =
    (ready.headOption, copy(ready = ready.drop(1), guess = Some(wanted)))
  def begun: PrewarmPool[C] = copy(starting = true)

  /** A start came to its end. */
  def answered(well: Boolean): PrewarmPool[C] =
    if well then copy(starting = false, failures = 0)
    else copy(starting = false, failures = failures + 1, pause = 1 << failures.min(PrewarmPool.LongestPause))

  def put(container: C): PrewarmPool[C] = copy(ready = ready :+ container)
  def remove(container: C): PrewarmPool[C] = copy(ready = ready.filterNot(_ == container))
  def isEmpty: Boolean = ready.isEmpty && !starting

object PrewarmPool:
  /** As a power of two. */
  private val LongestPause = 6
