package burst.controller.scheduler

/** Tells the invokers of a flare what of its packs' reports they need not keep any more for another
  * scheduler: what is stored, and all once an attempt is over. Where there is no other one they keep none
  * (`areKept`). Belongs to the flare's actor.
  */
private[scheduler] final class PackReceipts(packs: PackCommands, areKept: Boolean):
  /** Attempts that are over once what is pending is stored. */
  private var past = Vector.empty[(Int, Vector[PackPlacement])]

  /** What has ended with its flare. */
  private var over = Set.empty[Int]

  /** So many reports of an attempt's packs are stored, and all that was said before. */
  def stored(life: FlareLifecycle, told: Map[(Int, Int), Long]): Unit = if areKept then
    for (attempt, all) <- past; pack <- all do end(pack, attempt)
    past = Vector.empty
    if life.stage != FlareLifecycle.Stage.Ended then
      for
        ((attempt, pack), reports) <- told if attempt == life.flare.attempt
        placement <- life.progress.flatMap(_.plan.packs.lift(pack))
      do packs.stored(placement, attempt, reports, over = false)

  /** The flare goes on to another attempt. */
  def left(life: FlareLifecycle): Unit = if areKept then
    life.progress.foreach(p => past :+= life.flare.attempt -> p.plan.packs)

  /** Packs that have ended are over once their flare has ended, too. */
  def ended(life: FlareLifecycle): Unit = if areKept && life.stage == FlareLifecycle.Stage.Ended then
    for
      progress <- life.progress
      pack <- progress.plan.packs
      if progress.stages(pack.pack) == PackStage.Ended && !over(pack.pack)
    do
      over += pack.pack
      end(pack, life.flare.attempt)

  private def end(pack: PackPlacement, attempt: Int): Unit = packs.stored(pack, attempt, 0, over = true)
