// What subject_dlopen() opens.
extern "C" __attribute__((visibility("default"))) int plugin_answer() {
  volatile int sum = 0;
  for (int i = 0; i < 6; i++) sum = sum + 7;
  return sum;
}
