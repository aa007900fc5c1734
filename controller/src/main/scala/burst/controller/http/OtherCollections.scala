package burst.controller.http

import burst.controller.action.{ActionName, ActionProblem}
import burst.controller.store.{Blocking, Collection, DeployRefusal, EntityNames, Identity, PackageRefusal}
import burst.controller.trigger.TriggerRefusal
import scala.concurrent.{ExecutionContext, Future}

/** Looks in the caller's other collections for a name that one collection does not have: OpenWhisk
  * distinguishes that case from a free name.
  */
final class OtherCollections(names: EntityNames, blocking: Blocking)(using ExecutionContext):
  import OtherCollections.*

  /** Returns the answer, or, if it fails because a name is missing, an error if that name is in another
    * collection.
    */
  def apply(caller: Identity)(answer: Answer): Answer = answer.flatMap:
    case Left(error) =>
      missing(error).fold(Future.successful(Left(error))): (own, name) =>
        blocking(names.holder(caller.namespace, name, own)).map: holder =>
          Left(holder.fold(error)(other => ApiError.OfEntity(EntityProblem.InOtherCollection(name, other))))
    case answered => Future.successful(answered)

private object OtherCollections:
  /** Returns which of the caller's own entities is missing. For other namespaces this is not disclosed. */
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
      // A package contains nothing but actions.
      case Unreachable(ActionProblem.NoSuchAction(ActionName(_, None, name))) =>
        Some(Collection.Definitions -> name)
      case _ => None
