package burst.controller.scheduler

import burst.controller.store.StoreProblem

/** Data that could not be stored: the outputs of these workers or, if there are none, the flare itself. */
final case class StorageFailure(problem: StoreProblem, workers: Set[Int] = Set.empty):
  /** The failure for those of its workers that this holds for; nothing if there are none. */
  def of(some: Int => Boolean): Option[StorageFailure] =
    Some(copy(workers = workers.filter(some))).filter(_.workers.nonEmpty)
