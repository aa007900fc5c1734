package burst.controller.scheduler

import burst.node.FairSemaphore
import burst.protocol.{FlareId, Inputs, JsonText}
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import scala.concurrent.{ExecutionContext, Future}

/** A flare's inputs, until its packs have them. Small ones are kept in memory; large ones only until they are
  * stored, after which they are read again for each attempt as soon as there is memory for them. Belongs to
  * the flare's actor.
  */
private[scheduler] final class FlareInputs(
    accepted: Inputs,
    id: FlareId,
    namespace: String,
    environment: FlareEnvironment,
    context: ActorContext[FlareActor.Command]
):
  import FlareActor.{InputsGranted, InputsLoaded}

  // `accepted` is used only here: if a method used it, it would be retained.
  private var held = FlareInputs.own(accepted)

  /** The last attempt for which they could not be read. */
  private var unread = Option.empty[Int]

  /** The memory for large ones, until the packs have them. */
  private var granted = Option.empty[FairSemaphore.Permit]

  /** All requests for such memory, which may be granted when the actor has already stopped. */
  private var asked = Vector.empty[Future[FairSemaphore.Permit]]

  /** Whether the inputs are available; else requests memory, which is answered by `InputsGranted`. */
  def isAtHand(attempt: Int): Boolean = held match
    case Inputs.OutOfLine(size) =>
      val permit = environment.inputs.acquire(size, namespace)
      asked :+= permit
      permit.foreach(context.self ! InputsGranted(attempt, _))(using ExecutionContext.parasitic)
      false
    case _ => true

  /** Reads the inputs, which is answered by `InputsLoaded`. */
  def load(attempt: Int, permit: FairSemaphore.Permit): Unit =
    granted = Some(permit)
    val reading = Future(environment.store.inputs(id))(using environment.transfers.of(namespace))
    context.pipeToSelf(reading)(InputsLoaded(attempt, _))

  /** The inputs could not be read: others may have the memory until the next try. Returns whether it is the
    * first failure of the attempt.
    */
  def failed(attempt: Int): Boolean =
    giveBack()
    val isFirst = !hasFailed(attempt)
    unread = Some(attempt)
    isFirst

  /** Whether the last try to read them failed. */
  def hasFailed(attempt: Int): Boolean = unread.contains(attempt)

  def current: Inputs = held
  def loaded(inputs: Inputs): Unit = held = inputs

  /** Large inputs that are stored need not be held in memory as well. */
  def forgetLarge(): Unit = if held.length > Inputs.Small then held = Inputs.OutOfLine(held.length)

  /** The packs have them, or will not get them. */
  def giveBack(): Unit =
    granted.foreach(_.close())
    granted = None

  /** Gives back all memory, including what is granted later. */
  def close(): Unit = asked.foreach(_.foreach(_.close())(using ExecutionContext.parasitic))

private object FlareInputs:
  /** Copies small inputs to buffers of their own: as slices they would keep the whole request body in memory.
    */
  private def own(inputs: Inputs): Inputs =
    def copied(text: JsonText) = JsonText(text.bytes.compact)
    inputs match
      case Inputs.Shared(value) if inputs.length <= Inputs.Small => Inputs.Shared(copied(value))
      case Inputs.Each(values) if inputs.length <= Inputs.Small => Inputs.Each(values.map(copied))
      case _ => inputs
