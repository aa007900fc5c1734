package burst.controller.firing

import burst.controller.action.*
import burst.controller.definition.{Definition, FlareOptions, SealedEnvironment}
import burst.controller.store.{Identity, StoreException}
import burst.protocol.{FlareId, PackageId, Timestamp}
import io.circe.JsonObject
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** Actions by name; those of other namespaces than the caller's are refused. */
final class FakeActions(names: String*) extends Actions:
  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action] =
    if name.namespace != caller.namespace then Left(ActionProblem.NotEntitled) else find(name)

  /** How many more lookups fail, as when the store fails. */
  val unreadable: AtomicInteger = AtomicInteger()

  def find(name: ActionName): Either[ActionProblem, Action] =
    if unreadable.getAndDecrement() > 0 then
      throw StoreException("reading an action", IllegalStateException("it is away"))
    else if names.contains(name.path) then Right(FakeActions.action(name))
    else Left(ActionProblem.NoSuchAction(name))

object FakeActions:
  def action(name: ActionName): Action =
    val definition = Definition(
      name.namespace,
      name.path,
      "0.0.1",
      "rust",
      PackageId.of(Array[Byte](1)),
      1,
      FlareOptions(),
      JsonObject.empty,
      Timestamp.Epoch,
      SealedEnvironment.Empty
    )
    Action(name, definition, JsonObject.empty, JsonObject.empty)

/** Begins invocations, or refuses them, and keeps what it was asked for. */
final class FakeInvocations extends Invocations:
  val begun: ConcurrentLinkedQueue[Invocation] = ConcurrentLinkedQueue()
  val recorded: ConcurrentLinkedQueue[Activation] = ConcurrentLinkedQueue()
  @volatile var refusing: Option[InvocationRefusal] = None
  @volatile var breaking: Boolean = false

  /** How many more records fail to be stored. */
  val refusedRecords: AtomicInteger = AtomicInteger()

  def invoke(
      invocation: Invocation,
      limit: Option[FiniteDuration]
  ): Future[Either[InvocationRefusal, Invoked]] =
    begun.add(invocation)
    if breaking then Future.failed(StoreException("storing a flare", IllegalStateException("it is away")))
    else Future.successful(refusing.toLeft(Invoked.Running(FlareId.random())))

  def record(activation: Activation): Future[Unit] =
    if refusedRecords.getAndDecrement() > 0 then
      Future.failed(StoreException("ending an activation", IllegalStateException("it is away")))
    else
      recorded.add(activation)
      Future.unit
