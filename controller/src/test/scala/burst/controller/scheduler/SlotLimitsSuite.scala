package burst.controller.scheduler

import burst.controller.store.StoreException
import burst.node.MonotonicTime
import java.util.concurrent.atomic.AtomicLong
import munit.FunSuite
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

class SlotLimitsSuite extends FunSuite:
  test("a known limit is used while the store fails, and looking up others fails"):
    var fails = false
    val store = new Namespaces:
      override def find(namespace: String) =
        if fails then throw StoreException("reading a namespace", RuntimeException("no connection"))
        super.find(namespace)
    val clock = AtomicLong()
    val limits =
      SlotLimits(store, 100, 10.seconds, ExecutionContext.parasitic, () => MonotonicTime.ofMicros(clock.get))
    def of(namespace: String): Int = Await.result(limits.of(namespace), 10.seconds)
    val known = of("known")
    fails = true
    clock.set(60_000_000)
    assertEquals(of("known"), known)
    intercept[StoreException](of("other")): Unit
