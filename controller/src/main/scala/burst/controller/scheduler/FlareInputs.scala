package burst.controller.scheduler

import burst.node.FairSemaphore
import burst.protocol.{FlareId, Inputs, JsonText}
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import scala.concurrent.{ExecutionContext, Future}

/** A flare's inputs, until its packs have them. Small ones are held; large ones only until they are stored,
  * and then read again for each attempt as soon as there is memory for them. Belongs to the flare's actor.
  */
private[scheduler] final class FlareInputs(
    accepted: Inputs,
    id: FlareId,
    namespace: String,
    environment: FlareEnvironment,
    context: ActorContext[FlareActor.Command]
):
  import FlareActor.{InputsGranted, InputsLoaded}

  // `accepted` is used here and never after: what a method used would be held.
  private var held = FlareInputs.own(accepted)

  /** The last attempt for which they could not be read. */
  private var unread = Option.empty[Int]

  /** The memory for large ones, until the packs have them. */
  private var granted = Option.empty[FairSemaphore.Permit]

  /** All that was asked for of it, which may be granted when nobody is here any more. */
  private var asked = Vector.empty[Future[FairSemaphore.Permit]]

  /** Whether they are at hand; else memory is asked for, which is answered by `InputsGranted`. */
  def isAtHand(attempt: Int): Boolean = held match
    case Inputs.OutOfLine(size) =>
      val permit = environment.inputs.acquire(size, namespace)
      asked :+= permit
      permit.foreach(context.self ! InputsGranted(attempt, _))(using ExecutionContext.parasitic)
      false
    case _ => true

  /** Reads them, which is answered by `InputsLoaded`. */
  def load(attempt: Int, permit: FairSemaphore.Permit): Unit =
    granted = Some(permit)
    val reading = Future(environment.store.inputs(id))(using environment.transfers.of(namespace))
    context.pipeToSelf(reading)(InputsLoaded(attempt, _))

  /** They could not be read: until that is tried again others may have the memory. Whether it is the
    * attempt's first time.
    */
  def failed(attempt: Int): Boolean =
    giveBack()
    val isFirst = !hasFailed(attempt)
    unread = Some(attempt)
    isFirst

  /** They could not be read when that was last tried. */
  def hasFailed(attempt: Int): Boolean = unread.contains(attempt)

  def current: Inputs = held
  def loaded(inputs: Inputs): Unit = held = inputs

  /** What is stored need not be held here as well. */
  def forgetLarge(): Unit = if held.length > Inputs.Small then held = Inputs.OutOfLine(held.length)

  /** The packs have them, or will not get them. */
  def giveBack(): Unit =
    granted.foreach(_.close())
    granted = None

  /** Nobody is here any more. */
  def close(): Unit = asked.foreach(_.foreach(_.close())(using ExecutionContext.parasitic))

private object FlareInputs:
  /** Small ones as bytes of their own: as parts of a body they would hold all of it. */
  private def own(inputs: Inputs): Inputs =
    def copied(text: JsonText) = JsonText(text.bytes.compact)
    inputs match
      case Inputs.Shared(value) if inputs.length <= Inputs.Small => Inputs.Shared(copied(value))
      case Inputs.Each(values) if inputs.length <= Inputs.Small => Inputs.Each(values.map(copied))
      case _ => inputs
