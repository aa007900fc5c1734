package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState, Output, WorkerResult}

/** What the workers of a small flare put out, to be told with its end to those who wait for it: it is not
  * read back from the store then. Belongs to the flare's actor.
  */
private[scheduler] final class InlineResults(size: Int, isBurst: Boolean):
  import InlineResults.*

  def this(request: FlareRequest) = this(request.size, request.activation.exists(_.burst))

  private var last = Map.empty[Int, WorkerResult]
  private var isSmall = size <= Most && !isBurst

  def add(results: Vector[WorkerResult]): Unit = if isSmall then
    val all = last ++ results.map(result => result.worker -> result)
    isSmall = all.valuesIterator.map(length).sum <= Output.MostInline
    last = if isSmall then all else Map.empty

  /** Another attempt puts out its own. */
  def clear(): Unit = last = Map.empty

  /** All of them, in their order, or none: of a flare that ended otherwise than its workers did the store
    * knows what there is.
    */
  def of(ended: Flare): Vector[WorkerResult] =
    val all = last.valuesIterator.toVector.sortBy(_.worker)
    val isTold = all.size == size && all.forall(_.error.isEmpty) == (ended.state == FlareState.Succeeded)
    if isTold then all else Vector.empty

private object InlineResults:
  /** Workers of a flare whose results are held. */
  val Most = 8

  private def length(result: WorkerResult): Long =
    val output = result.output.fold[Long](0):
      case Output.Inline(text) => text.length
      case _: Output.OutOfLine => Int.MaxValue
    output + result.error.fold(0)(_.message.length)
