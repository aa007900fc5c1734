package burst.controller.scheduler

import burst.controller.store.StoreProblem

/** What could not be stored: outputs of these workers, or without any the flare itself. */
final case class StorageFailure(problem: StoreProblem, workers: Set[Int] = Set.empty):
  /** Of the workers that this holds for; nothing where there is none. */
  def of(some: Int => Boolean): Option[StorageFailure] =
    Some(copy(workers = workers.filter(some))).filter(_.workers.nonEmpty)
