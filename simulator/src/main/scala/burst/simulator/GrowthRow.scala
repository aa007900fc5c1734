package burst.simulator

/** What each of these took, submissions until they were answered: one that waits; the end of a flare until
  * the next one had its slots; the place in the queue of a flare that had been there for a while, and of one
  * that has just come; a submission while a large flare waits for the ends of others; one that is refused, as
  * the queue is full.
  */
final case class Asked(
    submission: Cost,
    ending: Cost,
    standing: Cost,
    newStanding: Cost,
    behindLarge: Cost,
    refusal: Cost
)

/** One line of `growth.csv`. */
final case class GrowthRow(
    machines: Int,
    queued: Int,
    load: Double,
    takeOver: Cost,
    heapPerFlare: Double,
    filling: Cost,
    asked: Asked,
    heartbeat: Cost,
    list: Cost,
    count: Cost
):
  def cells: Seq[Any] = Seq(
    machines,
    queued,
    f"$load%.1f",
    takeOver.seconds,
    takeOver.processor,
    heapPerFlare / 1024,
    filling.processorMillis,
    asked.submission.millis,
    asked.submission.processorMillis,
    asked.ending.millis,
    asked.ending.processorMillis,
    asked.standing.millis,
    asked.newStanding.millis,
    asked.behindLarge.millis,
    asked.behindLarge.processorMillis,
    asked.refusal.millis,
    asked.refusal.processorMillis,
    heartbeat.processorMillis * 1000,
    1 / heartbeat.seconds,
    list.millis,
    count.millis
  )

object GrowthRow:
  val Heads: Seq[String] = Seq(
    "invokers",
    "queued",
    "load of the machine",
    "take-over s",
    "take-over, processor s",
    "heap per queued flare KiB",
    "placement, processor ms",
    "submission ms",
    "submission, processor ms",
    "end to next placed ms",
    "end to next placed, processor ms",
    "place in the queue ms",
    "place of one just submitted ms",
    "submission behind a large one ms",
    "submission behind a large one, processor ms",
    "refusal ms",
    "refusal, processor ms",
    "heartbeat, processor µs",
    "heartbeats per second",
    "list of 30 ms",
    "count by state ms"
  )
