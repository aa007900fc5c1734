package burst.invoker.pool

/** `memoryMiB` is per worker. */
final case class PackSize(workers: Int, memoryMiB: Int)

/** The containers that wait for a pack of whatever definition: pure; `Invoker` acts on what is decided here.
  * `wanted` are to be `ready`; they are started one at a time, so as to be in nobody's way. With each start
  * in a row that fails the pause before the next is doubled, counted in heartbeats. They are made for packs
  * of `size`, the one that was asked for last; until one was, and nobody has a guess, there is none.
  */
final case class PrewarmPool[C](
    wanted: Int,
    size: Option[PackSize],
    ready: Vector[C] = Vector.empty[C],
    starting: Boolean = false,
    failures: Int = 0,
    pause: Int = 0
):
  /** Whether one more would be kept. */
  def hasRoom: Boolean = ready.size < wanted

  /** The size of the one that it is time to start. */
  def lacking: Option[PackSize] = size.filter(_ => !starting && pause == 0 && hasRoom)

  /** A heartbeat has passed. */
  def beat: PrewarmPool[C] = copy(pause = (pause - 1).max(0))

  /** For a pack of this size: the one that has waited longest. */
  def take(size: PackSize): (Option[C], PrewarmPool[C]) =
    (ready.headOption, copy(ready = ready.drop(1), size = Some(size)))
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
