package burst.controller.scheduler

import burst.controller.flare.{Flare, PackRecord}
import burst.controller.metrics.FlareFigures
import burst.protocol.{PackStart, Timestamp}

/** Reports to the metrics, and to the flare's trace, where a flare's time goes, from its state after each
  * step. An attempt after the first waits from when it was queued again. A group's end is not counted: it was
  * closed, or had no flares. Belongs to the flare's actor.
  */
private[scheduler] final class FlareTimes(
    accepted: Flare,
    figures: FlareFigures,
    spans: FlareSpans,
    now: () => Timestamp
):
  private val isGroup = accepted.request.isGroup
  private var attempt = accepted.attempt
  private var queued = accepted.created
  // If another scheduler placed it, that one has reported this.
  private var placed = accepted.placed
  private var asked = accepted.placed
  private var started = accepted.started

  def follow(life: FlareLifecycle): Unit =
    val flare = life.flare
    if flare.attempt != attempt then again(flare.attempt)
    if placed.isEmpty && flare.placed.isDefined then
      placed = flare.placed
      placed.foreach: at =>
        figures.waited(at - queued)
        spans.waited(attempt, from = queued, to = at)
    // Its time runs from when packs are requested.
    if asked.isEmpty && life.deadline.isDefined then
      asked = Some(now())
      for begun <- placed; at <- asked do
        figures.placed(at - begun)
        spans.placed(attempt, from = begun, to = at)
    if started.isEmpty && flare.started.isDefined then
      started = flare.started
      for begun <- asked; at <- started do
        figures.started(FlareTimes.slowest(life.record.packs), at - begun)

  def ended(flare: Flare): Unit =
    if placed.isEmpty then flare.ended.foreach(end => spans.waited(attempt, from = queued, to = end))
    spans.ended(flare)
    if !isGroup then counted(flare)

  private def counted(flare: Flare): Unit =
    val ran = for begun <- flare.started; end <- flare.ended yield end - begun
    figures.ended(flare.state, flare.error, ran)

  private def again(next: Int): Unit =
    attempt = next
    queued = now()
    placed = None
    asked = None
    started = None

private object FlareTimes:
  /** The slowest kind of start, which all packs waited for. */
  def slowest(packs: Vector[PackRecord]): PackStart =
    packs.flatMap(_.start).minByOption(_.ordinal).getOrElse(PackStart.Cold)
