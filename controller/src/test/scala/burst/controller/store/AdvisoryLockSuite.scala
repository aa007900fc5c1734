package burst.controller.store

import scala.concurrent.duration.DurationInt

class AdvisoryLockSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  private val locks = FunFixture[() => AdvisoryLock](
    _ =>
      val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
      () => AdvisoryLock(settings, "members")
    ,
    _ => ()
  )

  locks.test("many can share the lock, and then nobody gets it exclusively"): make =>
    val (one, other, third) = (make(), make(), make())
    assert(one.tryShared() && other.tryShared())
    assert(!third.tryExclusive())
    assertEquals(third.held(), None)
    one.close()
    assert(!third.tryExclusive())
    other.close()
    assert(third.tryExclusive())
    assertEquals(third.held(), Some(LockMode.Exclusive))
    third.close()

  locks.test("an exclusive holder can change to a shared lock, and only then others get theirs"): make =>
    val (one, other) = (make(), make())
    assert(one.tryExclusive() && one.tryExclusive())
    assert(!other.tryShared() && !other.tryExclusive())
    assert(one.tryShared())
    assertEquals(one.held(), Some(LockMode.Shared))
    assert(other.tryShared() && !other.tryExclusive())
    one.close()
    other.close()

  locks.test("a released lock can be taken again, and a closed one cannot"): make =>
    val lock = make()
    assert(lock.tryShared())
    lock.release()
    assert(lock.tryExclusive())
    lock.close()
    assert(!lock.tryShared() && !lock.tryExclusive())
    assertEquals(lock.held(), None)

  locks.test("locks of other names, or in other databases, are independent"): make =>
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val all = Vector(make(), AdvisoryLock(settings, "members"), AdvisoryLock(settings, "else"))
    assert(all.forall(_.tryExclusive()))
    all.foreach(_.close())

  test("a killed server loses the lock, which can be taken again when it is back"):
    val server = PostgresServer.fresh()
    try
      val settings = server.settings(server.createDatabase(), connectTimeout = 20.seconds)
      val lock = AdvisoryLock(settings, "members")
      assert(lock.tryShared())
      server.kill()
      assertEquals(lock.held(), None)
      val failure = intercept[StoreUnavailable](lock.tryShared())
      assert(!failure.getMessage.contains(settings.password), failure.getMessage)
      server.start()
      assert(lock.tryShared())
      assertEquals(lock.held(), Some(LockMode.Shared))
      lock.close()
    finally server.close()
