package burst.controller.scheduler

/** Time in microseconds as a machine tells it. `now` is the time of day, since the epoch: for records, as
  * somebody may set it. `elapsed` only goes on, from wherever: whatever waits, or lasts, is measured by it.
  */
final case class Clock(now: () => Long, elapsed: () => Long):

  /** The time of day at which so much will have elapsed, or had. */
  def dayTime(at: Long): Long = now() + at - elapsed()

  /** The time of day as it is now, and from then on as time goes by, whoever sets the clock: of moments told
    * by it, the later one is the larger, and between two lies what went by.
    */
  def steady: () => Long =
    val begin = dayTime(0)
    () => begin + elapsed()

object Clock:
  val ofMachine: Clock = Clock(
    () =>
      val instant = java.time.Instant.now()
      instant.getEpochSecond * 1_000_000 + instant.getNano / 1000
    ,
    () => System.nanoTime() / 1000
  )
