package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState, Output, WorkerResult}

/** The outputs of a small flare's workers, to be sent with its end to the callers that wait for it, without
  * reading them back from the store. Belongs to the flare's actor.
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

  /** Another attempt has outputs of its own. */
  def clear(): Unit = last = Map.empty

  /** All of them, in the order of the workers, or none: if a flare ended otherwise than its workers did, only
    * the store knows the results.
    */
  def of(ended: Flare): Vector[WorkerResult] =
    val all = last.valuesIterator.toVector.sortBy(_.worker)
    val isTold = all.size == size && all.forall(_.error.isEmpty) == (ended.state == FlareState.Succeeded)
    if isTold then all else Vector.empty

private object InlineResults:
  /** The most workers of a flare whose results are kept here. */
  val Most = 8

  private def length(result: WorkerResult): Long =
    val output = result.output.fold[Long](0):
      case Output.Inline(text) => text.length
      case _: Output.OutOfLine => Int.MaxValue
    output + result.error.fold(0)(_.message.length)
