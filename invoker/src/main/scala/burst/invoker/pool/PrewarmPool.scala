package burst.invoker.pool

import burst.protocol.DefinitionRef

/** `memoryMiB` is per worker. */
final case class PackSize(workers: Int, memoryMiB: Int)

/** What the next pack is expected to be like: its size, and its kind if an interpreter that waits for its
  * function could run it.
  */
final case class PackGuess(size: PackSize, kind: Option[String])

object PackGuess:
  def of(shape: PackShape): PackGuess =
    val definition = shape.definition
    // the same rule as the runtime's
    val interpreted =
      definition.kind != DefinitionRef.Rust && definition.concurrency == 1 && shape.environment.isEmpty
    PackGuess(PackSize(shape.workers, shape.memoryMiB), Option.when(interpreted)(definition.kind))

/** The containers that wait for a pack of any definition: a pure data structure; `Invoker` carries out the
  * decisions. `target` of them should be `ready`; they are started one at a time, to disturb nobody. After
  * each further failed start the pause before the next one doubles, counted in heartbeats. They are made for
  * packs like the one requested last, the `guess`; until there is a guess none is started.
  */
final case class PrewarmPool[C](
    target: Int,
    guess: Option[PackGuess],
    ready: Vector[C] = Vector.empty[C],
    starting: Boolean = false,
    failures: Int = 0,
    pause: Int = 0
):
  /** Whether one more would be kept. */
  def hasRoom: Boolean = ready.size < target

  /** The guess for the next container, if it is time to start one. */
  def missing: Option[PackGuess] = guess.filter(_ => !starting && pause == 0 && hasRoom)

  /** A heartbeat has passed. */
  def beat: PrewarmPool[C] = copy(pause = (pause - 1).max(0))

  /** Takes the container that has waited longest, for such a pack. */
  def take(pack: PackGuess): (Option[C], PrewarmPool[C]) =
    (ready.headOption, copy(ready = ready.drop(1), guess = Some(pack)))
  def begun: PrewarmPool[C] = copy(starting = true)

  /** A start has completed. */
  def answered(succeeded: Boolean): PrewarmPool[C] =
    if succeeded then copy(starting = false, failures = 0)
    else copy(starting = false, failures = failures + 1, pause = 1 << failures.min(PrewarmPool.LongestPause))

  def put(container: C): PrewarmPool[C] = copy(ready = ready :+ container)
  def remove(container: C): PrewarmPool[C] = copy(ready = ready.filterNot(_ == container))
  def isEmpty: Boolean = ready.isEmpty && !starting

object PrewarmPool:
  /** As a power of two. */
  private val LongestPause = 6
