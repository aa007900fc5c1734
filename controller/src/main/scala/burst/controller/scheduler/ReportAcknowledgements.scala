package burst.controller.scheduler

import burst.protocol.PackId

/** Tells the invokers of a flare which of its packs' reports they need not keep any more for another
  * scheduler: those that are stored, and all once an attempt is over. If there can be no other scheduler they
  * keep none (`areKept`). Belongs to the flare's actor.
  */
private[scheduler] final class ReportAcknowledgements(packs: PackCommands, areKept: Boolean):
  /** What must be sent about past attempts once pending data is stored. */
  private var past = Vector.empty[() => Unit]

  /** The packs that have ended, and whose flare has. */
  private var over = Set.empty[PackId]

  /** The given numbers of reports of an attempt's packs are stored, with all that precedes them. */
  def stored(life: FlareLifecycle, told: Map[(Int, PackId), Long]): Unit = if areKept then
    past.foreach(_())
    past = Vector.empty
    if life.stage != FlareLifecycle.Stage.Ended then
      for
        ((attempt, pack), reports) <- told if attempt == life.flare.attempt
        placement <- life.progress.flatMap(_.plan.packs.lift(pack))
      do packs.stored(placement, attempt, reports)

  /** The flare proceeds to another attempt. */
  def left(life: FlareLifecycle): Unit = if areKept then
    life.progress.foreach(p => past :+= packs.over(p.plan.packs, life.flare.attempt))

  /** Packs that have ended are over once their flare has ended, too. */
  def ended(life: FlareLifecycle): Unit = if areKept && life.stage == FlareLifecycle.Stage.Ended then
    for progress <- life.progress do
      val ended = progress.plan.packs.filter: pack =>
        progress.stages(pack.pack) == PackStage.Ended && !over(pack.pack)
      over ++= ended.map(_.pack)
      packs.over(ended, life.flare.attempt)()
