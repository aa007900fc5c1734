package burst.controller.scheduler

import burst.node.SetupException
import com.typesafe.config.ConfigFactory
import munit.FunSuite

class BackendCatalogSuite extends FunSuite:
  private def read(own: String) = BackendCatalog.from(ConfigFactory.parseString(s"""burst {
    default-backend = cache
    backends {
      cache { kind = redis-list, uri = "redis://:password@host" }
      lab { kind = redis-list, uri = "redis://host", shared-credentials = true }
    }
    $own
  }"""))
  private val catalog = read("")

  test("flares receive the platform's own address only if the operator allows it"):
    def shared(name: String) = catalog.find(name, None).map(_.sharedCredentials)
    assertEquals(shared("cache"), Some(false))
    assertEquals(shared("lab"), Some(true))
    assertEquals(shared("pigeons"), None)

  test("direct always exists and stores nothing; an operator's entry of that name replaces it entirely"):
    assertEquals(catalog.find("direct", None).map(_.kind), Some("direct"))
    assert(!catalog.needsCleaning("direct"))
    assertEquals(BackendCatalog.from(ConfigFactory.load()).names, Vector("direct"))
    val own = read("""backends.direct { kind = redis-list, uri = "redis://host" }""")
    assertEquals(own.find("direct", None).map(_.kind), Some("redis-list"))
    assert(own.needsCleaning("direct"))

  test("an unusable backend is reported by its setting, without an address"):
    def told(own: String) = intercept[SetupException](read(own)).getMessage
    assertEquals(
      told("default-backend = cahce"),
      "burst.default-backend is 'cahce', which is not under burst.backends: give one of cache, direct, lab, or add " +
        "it there."
    )
    assertEquals(
      told("backends.lab.ca = /nowhere"),
      "burst.backends.lab.ca is '/nowhere', which cannot be read."
    )
