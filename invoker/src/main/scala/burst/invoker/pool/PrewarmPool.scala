package burst.invoker.pool

/** The containers that wait for a pack of whatever definition: pure; `Invoker` acts on what is decided here.
  * `wanted` are to be `ready`; they are started one at a time, so as to be in nobody's way. With each start
  * in a row that fails the pause before the next is doubled, counted in heartbeats.
  */
final case class PrewarmPool[C](
    wanted: Int,
    ready: Vector[C] = Vector.empty[C],
    starting: Boolean = false,
    failures: Int = 0,
    pause: Int = 0
):
  /** Whether one more would be kept. */
  def hasRoom: Boolean = ready.size < wanted

  /** Whether it is time to start one. */
  def lacksOne: Boolean = !starting && pause == 0 && hasRoom

  /** A heartbeat has passed. */
  def beat: PrewarmPool[C] = copy(pause = (pause - 1).max(0))

  /** The one that has waited longest. */
  def take: (Option[C], PrewarmPool[C]) = (ready.headOption, copy(ready = ready.drop(1)))
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
