package burst.controller.store

import burst.node.MonotonicTime
import java.util.concurrent.atomic.AtomicLong
import scala.concurrent.duration.FiniteDuration

/** Until when what was read of a database may be told again ([[Remembered]]). */
private[store] trait Validity:
  /** Of now: to be asked for before something is read. */
  def stamp(): Long

  /** Whether what was read after this stamp is good. */
  def covers(stamp: Long): Boolean

  /** Whether that is so for a little while only. */
  def isAging(stamp: Long): Boolean

  /** Something of it was changed by this process. */
  def changed(): Unit

  /** Has what was just done be told when nothing is good any more that was read before, in any process. */
  def awaitForgotten(): Unit

private[store] object Validity:
  /** Where this process alone changes it. */
  final class UntilChanged extends Validity:
    private val changes = AtomicLong()

    def stamp(): Long = changes.get
    def covers(stamp: Long): Boolean = stamp == changes.get
    def isAging(stamp: Long): Boolean = false
    def changed(): Unit =
      val _ = changes.incrementAndGet()
    def awaitForgotten(): Unit = ()

  /** Where others do: for so long, by each one's own clock, and whoever changes something waits for as long.
    * So what is told as done is seen by all, and nobody needs to be asked.
    */
  final class TimeToLive(span: FiniteDuration, clock: () => MonotonicTime = () => MonotonicTime.now())
      extends Validity:
    private val aging = span * 2 / 3

    def stamp(): Long = clock().nanos
    def covers(stamp: Long): Boolean = clock() < MonotonicTime.ofNanos(stamp) + span
    def isAging(stamp: Long): Boolean = clock() > MonotonicTime.ofNanos(stamp) + aging
    def changed(): Unit = ()

    /** A little longer, as no two clocks go alike. */
    def awaitForgotten(): Unit = Blocking.pause(span * 11 / 10)
