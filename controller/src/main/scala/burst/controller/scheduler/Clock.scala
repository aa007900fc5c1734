package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.Timestamp

/** Time as a machine tells it. `now` is for records; by `elapsed` whatever waits, or lasts, is measured. */
final case class Clock(now: () => Timestamp, elapsed: () => MonotonicTime):

  /** The time of day at which it will be, or was. */
  def dayTime(at: MonotonicTime): Timestamp = now() + (at - elapsed())

  /** The time of day as it is now, and from then on as time goes by, whoever sets the clock: of moments told
    * by it, the later one is the larger, and between two lies what went by.
    */
  def steady: () => Timestamp =
    val (begin, since) = (now(), elapsed())
    () => begin + (elapsed() - since)

object Clock:
  val ofMachine: Clock = Clock(() => Timestamp.now(), () => MonotonicTime.now())
