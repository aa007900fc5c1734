package burst.controller.store

import burst.node.MonotonicTime
import java.util.concurrent.atomic.AtomicLong
import scala.concurrent.duration.FiniteDuration

/** How long values read from a database may be used ([[Remembered]]). */
private[store] trait Validity:
  /** Returns a stamp of the present, to be taken before something is read. */
  def stamp(): Long

  /** Whether values read after this stamp are valid. */
  def covers(stamp: Long): Boolean

  /** Whether they are valid for only a little longer. */
  def isAging(stamp: Long): Boolean

  /** Notes that this process has changed something. */
  def changed(): Unit

  /** Delays completion of the current change until no value that was read before it is valid any more, in any
    * process.
    */
  def awaitForgotten(): Unit

private[store] object Validity:
  /** For a database that only this process changes. */
  final class UntilChanged extends Validity:
    private val changes = AtomicLong()

    def stamp(): Long = changes.get
    def covers(stamp: Long): Boolean = stamp == changes.get
    def isAging(stamp: Long): Boolean = false
    def changed(): Unit =
      val _ = changes.incrementAndGet()
    def awaitForgotten(): Unit = ()

  /** For a database that others change, too: values are valid for a fixed time, by each process's own clock,
    * and whoever changes something waits for as long. So a change that is reported as done is seen by all,
    * and nobody needs to be asked.
    */
  final class TimeToLive(span: FiniteDuration, clock: () => MonotonicTime = () => MonotonicTime.now())
      extends Validity:
    private val aging = span * 2 / 3

    def stamp(): Long = clock().nanos
    def covers(stamp: Long): Boolean = clock() < MonotonicTime.ofNanos(stamp) + span
    def isAging(stamp: Long): Boolean = clock() > MonotonicTime.ofNanos(stamp) + aging
    def changed(): Unit = ()

    /** Waits a little longer, as no two clocks run alike. */
    def awaitForgotten(): Unit = Blocking.pause(span * 11 / 10)
