// Nothing: what matters is that the objects beside it leave no symbol undefined.
int main() { return 0; }
