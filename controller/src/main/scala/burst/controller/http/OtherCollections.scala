package burst.controller.http

import burst.controller.action.{ActionName, ActionProblem}
import burst.controller.store.{Blocking, Collection, DeployRefusal, EntityNames, Identity, PackageRefusal}
import burst.controller.trigger.TriggerRefusal
import scala.concurrent.{ExecutionContext, Future}

/** Looks where else in the caller's namespace there is something of a name that a collection does not have:
  * OpenWhisk tells that from a name that is free.
  */
final class OtherCollections(names: EntityNames, blocking: Blocking)(using ExecutionContext):
  import OtherCollections.*

  /** The answer, or that the name which it misses is another collection's. */
  def apply(caller: Identity)(answer: Answer): Answer = answer.flatMap:
    case Left(error) =>
      missing(error).fold(Future.successful(Left(error))): (own, name) =>
        blocking(names.holder(caller.namespace, name, own)).map: holder =>
          Left(holder.fold(error)(other => ApiError.OfEntity(EntityProblem.InOtherCollection(name, other))))
    case answered => Future.successful(answered)

private object OtherCollections:
  /** What is not there of the caller's own. Of other namespaces nobody is told so. */
  def missing(error: ApiError): Option[(Collection, String)] = error match
    case ApiError.OfTrigger(problem) => missing(problem)
    case ApiError.OfEntity(problem) => missing(problem)
    case ApiError.NotDeployed(_, DeployRefusal.NoSuchPackage(name)) => Some(Collection.Packages -> name)
    case _ => None

  private def missing(problem: TriggerProblem): Option[(Collection, String)] = problem match
    case TriggerProblem.NoSuchTrigger(name) => Some(Collection.Triggers -> name)
    case TriggerProblem.NotStored(TriggerRefusal.NoSuchRule(name)) => Some(Collection.Rules -> name)
    case _ => None

  private def missing(problem: EntityProblem): Option[(Collection, String)] =
    import EntityProblem.*
    problem match
      case NoSuchPackage(name) => Some(Collection.Packages -> name)
      case PackageNotStored(name, PackageRefusal.Missing) => Some(Collection.Packages -> name)
      case Unreachable(ActionProblem.NoSuchPackage(name)) => Some(Collection.Packages -> name)
      // In a package there is nothing else.
      case Unreachable(ActionProblem.NoSuchAction(ActionName(_, None, name))) =>
        Some(Collection.Definitions -> name)
      case _ => None
