package burst.controller.store

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, Executors, RejectedExecutionException, TimeUnit}
import scala.collection.mutable
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.{Failure, Success, Try}

/** Which changes share a transaction, and what happens to those that fail. */
class GroupCommitSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val threads = FunFixture[ExecutionContext](
    _ => ExecutionContext.fromExecutorService(Executors.newCachedThreadPool()),
    { case pool: java.util.concurrent.ExecutorService => pool.shutdown(); case _ => () }
  )

  /** Transactions as lists of what was done in them and not rolled back. */
  private final class Log:
    private val committed = mutable.Buffer.empty[Vector[String]]
    private var open = Vector.empty[String]

    def does(what: String): Unit = open :+= what

    def write(all: Vector[() => Unit]): Vector[Try[Unit]] = synchronized:
      open = Vector.empty
      all.foreach(_())
      committed += open
      all.map(_ => Success(()))

    def transactions: Vector[Vector[String]] = synchronized(committed.toVector)

  /** The outcomes of changes that all arrive before the first is done. */
  private def written(commit: GroupCommit[Int, Int], all: Int*): Vector[Try[Int]] =
    val waiting = mutable.Queue.empty[Runnable]
    val later = new ExecutionContext:
      def execute(work: Runnable): Unit = waiting += work
      def reportFailure(cause: Throwable): Unit = throw cause
    val outcomes = all.toVector.map(commit(later)(_))
    while waiting.nonEmpty do waiting.dequeue().run()
    outcomes.map(_.value.getOrElse(fail("a change was forgotten")))

  threads.test("changes that arrive during a write share the next transaction"): pool =>
    given ExecutionContext = pool
    val log = Log()
    val commit = GroupCommit(log.write, oneWriter = true, _ => 1)
    val (began, goOn) = (CountDownLatch(1), CountDownLatch(1))
    val first = commit(pool): () =>
      log.does("first")
      began.countDown()
      val _ = goOn.await(60, TimeUnit.SECONDS)
    assert(began.await(60, TimeUnit.SECONDS))
    val others = Vector("a", "b", "c").map(name => commit(pool)(() => log.does(name)))
    assertEquals(commit.awaiting, 3)
    goOn.countDown()
    Await.result(Future.sequence(first +: others), 60.seconds)
    assertEquals(log.transactions.map(_.toSet), Vector(Set("first"), Set("a", "b", "c")))

  threads.test("a change that fails affects no other, and its caller receives the error"): pool =>
    val log = Log()
    val commit = GroupCommit(log.write, oneWriter = true, _ => 1)
    val (began, goOn) = (CountDownLatch(1), CountDownLatch(1))
    val first = commit(pool): () =>
      began.countDown()
      val _ = goOn.await(60, TimeUnit.SECONDS)
    assert(began.await(60, TimeUnit.SECONDS))
    val others = Vector("a", "wrong", "c").map: name =>
      commit(pool): () =>
        log.does(name)
        if name == "wrong" then throw IllegalStateException("taken")
    goOn.countDown()
    val outcomes = others.map(other => Try(Await.result(other, 60.seconds)))
    assertEquals(outcomes.map(_.isSuccess), Vector(true, false, true))
    assertEquals(outcomes(1).failed.map(_.getMessage), Try("taken"))
    Await.result(first, 60.seconds)
    assertEquals(log.transactions.flatten.toSet, Set("a", "c"))

  test("the caller of a refused change receives the error, and the others' transaction commits"):
    val transactions = AtomicInteger()
    val refusing = GroupCommit[Int, Int](
      all =>
        transactions.incrementAndGet()
        all.map(number => if number < 0 then Failure(IllegalStateException("refused")) else Success(number))
      ,
      oneWriter = false,
      _ => 1
    )
    val all = written(refusing, 1, -1, 2)
    assertEquals(all.map(_.toOption), Vector(Some(1), None, Some(2)))
    assertEquals(all(1).failed.map(_.getMessage), Try("refused"))
    assertEquals(transactions.get, 1)

  threads.test("with several writers, changes that are tried alone do not wait for each other"): pool =>
    given ExecutionContext = pool
    val (began, goOn, alone) = (CountDownLatch(1), CountDownLatch(1), CountDownLatch(3))
    def write(all: Vector[String]): Vector[Try[Boolean]] =
      if all == Vector("first") then
        began.countDown()
        goOn.await(60, TimeUnit.SECONDS)
      if all.sizeIs > 1 then throw IllegalStateException("not together")
      // Each write waits until all have arrived.
      if all != Vector("first") then
        alone.countDown()
        assert(alone.await(60, TimeUnit.SECONDS))
      all.map(_ => Success(true))
    val commit = GroupCommit(write, oneWriter = false, _ => 1)
    val first = commit(pool)("first")
    assert(began.await(60, TimeUnit.SECONDS))
    val others = Vector("a", "b", "c").map(commit(pool)(_))
    goOn.countDown()
    assertEquals(Await.result(Future.sequence(first +: others), 60.seconds), Vector.fill(4)(true))

  test("a transaction is limited in number and bytes, and a missing outcome is a failure"):
    val sizes = mutable.Buffer.empty[Int]
    def commit(weight: Int => Long) = GroupCommit[Int, Int](
      all =>
        sizes += all.size
        all.map(Success(_))
      ,
      oneWriter = true,
      weight
    )
    written(commit(_ => 1), 1 to 600*)
    assertEquals(sizes.toVector, Vector(GroupCommit.Most, GroupCommit.Most, 600 - 2 * GroupCommit.Most))
    sizes.clear()
    written(commit(_ * GroupCommit.MostWeight / 4), 1, 2, 1, 9, 1, 3)
    assertEquals(sizes.toVector, Vector(3, 1, 2))
    val forgetful = GroupCommit[Int, Int](_ => Vector.empty, oneWriter = true, _ => 1)
    assert(written(forgetful, 1, 2).forall(_.isFailure))

  threads.test("many changes are all done once, in shared or separate transactions"): pool =>
    given ExecutionContext = pool
    val log = Log()
    val commit = GroupCommit(log.write, oneWriter = true, _ => 1)
    val all = (0 until 500).map(number => commit(pool)(() => log.does(number.toString)))
    Await.result(Future.sequence(all), 60.seconds)
    assertEquals(log.transactions.flatten.map(_.toInt).sorted, (0 until 500).toVector)
    assertEquals(commit.awaiting, 0)

  test("changes given to threads that take no more work fail, and no other waits for them"):
    val closed = Executors.newSingleThreadExecutor()
    closed.shutdown()
    val commit = GroupCommit(Log().write, oneWriter = true, _ => 1)
    val refused = (1 to 2).map(_ => commit(ExecutionContext.fromExecutor(closed))(() => ()))
    refused.foreach(one => intercept[RejectedExecutionException](Await.result(one, 60.seconds)))
    assertEquals(commit.awaiting, 0)

  threads.test("if no thread can be started, nothing is stored until one can"): pool =>
    val log = Log()
    val commit = GroupCommit(log.write, oneWriter = true, _ => 1)
    val exhausted = new ExecutionContext:
      def execute(work: Runnable): Unit = throw OutOfMemoryError("unable to create native thread")
      def reportFailure(cause: Throwable): Unit = ()
    val failed = Try(commit(exhausted)(() => log.does("lost"))).map(Await.ready(_, 60.seconds).value)
    Await.result(commit(pool)(() => log.does("next")), 60.seconds)
    assert(failed.toOption.flatten.exists(_.isFailure))
    assertEquals(log.transactions, Vector(Vector("next")))
